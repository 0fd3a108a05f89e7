//! A host of the measured traffic behind an endpoint of the overlay, as one machine.

use polypath_core::endpoint::{ConfigError, Endpoint, EndpointConfig, Input, Output};
use polypath_core::event::Event;
use polypath_core::frame::{Frame, Payload};
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::PacketMeta;
use polypath_core::time::Time;

/// One end of the measured traffic: TCP of a transfer, or the source or the sink of a stream.
pub(crate) trait Application: Machine {
    /// The packets that the two ends exchange.
    type Packet: Payload + std::fmt::Debug;

    /// The input for a packet that arrived.
    fn input(packet: Self::Packet) -> Self::Input;

    /// The packet of an output, if it is one.
    fn packet(output: Self::Output) -> Option<Self::Packet>;

    /// The view of a path policy.
    fn meta(packet: &Self::Packet) -> PacketMeta;
}

/// An input of a host and its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostInput<I, P> {
    /// An input of the application that is not from the network.
    Application(I),
    /// A frame arrived.
    Frame(Frame<P>),
}

/// An output of a host and its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostOutput<P> {
    /// Send this frame on its path.
    Transmit(Frame<P>),
    /// An event of the endpoint.
    Event(Event),
}

/// An application whose packets pass through an endpoint.
#[derive(Debug)]
pub(crate) struct Host<A: Application> {
    application: A,
    endpoint: Endpoint<A::Packet>,
    /// Packets between the two; empty between wakes.
    to_endpoint: Vec<A::Packet>,
    to_application: Vec<A::Packet>,
}

impl<A: Application> Host<A> {
    pub(crate) fn new(application: A, config: &EndpointConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            application,
            endpoint: Endpoint::new(config)?,
            to_endpoint: Vec::new(),
            to_application: Vec::new(),
        })
    }

    pub(crate) const fn application(&self) -> &A {
        &self.application
    }

    /// Exchanges packets until neither side has one for the other.
    fn settle(&mut self, now: Time, out: &mut impl FnMut(HostOutput<A::Packet>)) {
        loop {
            let to_endpoint = &mut self.to_endpoint;
            for packet in self.to_application.drain(..) {
                let input = A::input(packet);
                self.application
                    .handle_input(now, input, &mut |o| to_endpoint.extend(A::packet(o)));
            }
            if to_endpoint.is_empty() {
                return;
            }
            let to_application = &mut self.to_application;
            for payload in to_endpoint.drain(..) {
                let meta = A::meta(&payload);
                let input = Input::Packet { meta, payload };
                self.endpoint
                    .handle_input(now, input, &mut |o| sort(o, to_application, out));
            }
        }
    }
}

fn sort<P>(output: Output<P>, to_application: &mut Vec<P>, out: &mut impl FnMut(HostOutput<P>)) {
    match output {
        Output::Deliver(packet) => to_application.push(packet),
        Output::Transmit(frame) => out(HostOutput::Transmit(frame)),
        Output::Event(event) => out(HostOutput::Event(event)),
        // Simulated links carry packets of any length, so endpoints refuse none.
        Output::Refused { .. } => {}
    }
}

impl<A: Application> Machine for Host<A> {
    type Input = HostInput<A::Input, A::Packet>;
    type Output = HostOutput<A::Packet>;

    fn handle_input(&mut self, now: Time, input: Self::Input, out: &mut impl FnMut(Self::Output)) {
        match input {
            HostInput::Application(input) => {
                let to_endpoint = &mut self.to_endpoint;
                self.application
                    .handle_input(now, input, &mut |o| to_endpoint.extend(A::packet(o)));
            }
            HostInput::Frame(frame) => {
                let to_application = &mut self.to_application;
                let input = Input::Frame(frame);
                self.endpoint
                    .handle_input(now, input, &mut |o| sort(o, to_application, out));
            }
        }
        self.settle(now, out);
    }

    /// The endpoint first, then the application.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Self::Output)) {
        let is_due = |d: Option<Deadline>| d.is_some_and(|d| d.at <= now);
        if is_due(self.endpoint.deadline()) {
            let to_application = &mut self.to_application;
            self.endpoint
                .handle_timeout(now, &mut |o| sort(o, to_application, out));
        }
        if is_due(self.application.deadline()) {
            let to_endpoint = &mut self.to_endpoint;
            self.application
                .handle_timeout(now, &mut |o| to_endpoint.extend(A::packet(o)));
        }
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.endpoint.deadline(), self.application.deadline())
    }
}
