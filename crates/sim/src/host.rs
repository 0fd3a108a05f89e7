//! A host of the measured transfers behind an endpoint of the overlay, as one machine.

use polypath_core::endpoint::{ConfigError, Endpoint, EndpointConfig, Input, Output};
use polypath_core::event::Event;
use polypath_core::frame::Frame;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::Time;

use crate::tcp::{Segment, TcpOutput};

/// An input of a host and its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostInput<I> {
    /// An input of TCP that is not from the network.
    Tcp(I),
    /// A frame arrived.
    Frame(Frame<Segment>),
}

/// An output of a host and its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostOutput {
    /// Send this frame on its path.
    Transmit(Frame<Segment>),
    /// An event of the endpoint.
    Event(Event),
}

/// A TCP machine `T` whose segments pass through an endpoint.
#[derive(Debug)]
pub(crate) struct Host<T> {
    tcp: T,
    endpoint: Endpoint<Segment>,
    /// Segments between the two; empty between wakes.
    to_endpoint: Vec<Segment>,
    to_tcp: Vec<Segment>,
}

impl<T> Host<T>
where
    T: Machine,
    T::Input: From<Segment>,
    T::Output: Into<TcpOutput>,
{
    pub(crate) fn new(tcp: T, config: &EndpointConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            tcp,
            endpoint: Endpoint::new(config)?,
            to_endpoint: Vec::new(),
            to_tcp: Vec::new(),
        })
    }

    pub(crate) const fn tcp(&self) -> &T {
        &self.tcp
    }

    /// Exchanges segments until neither side has one for the other.
    fn settle(&mut self, now: Time, out: &mut impl FnMut(HostOutput)) {
        loop {
            let to_endpoint = &mut self.to_endpoint;
            for segment in self.to_tcp.drain(..) {
                self.tcp.handle_input(now, segment.into(), &mut |o| {
                    to_endpoint.extend(segment_of(o));
                });
            }
            if to_endpoint.is_empty() {
                return;
            }
            let to_tcp = &mut self.to_tcp;
            for payload in to_endpoint.drain(..) {
                let meta = payload.meta();
                let input = Input::Packet { meta, payload };
                self.endpoint
                    .handle_input(now, input, &mut |o| sort(o, to_tcp, out));
            }
        }
    }
}

fn segment_of(output: impl Into<TcpOutput>) -> Option<Segment> {
    output.into().segment()
}

fn sort(output: Output<Segment>, to_tcp: &mut Vec<Segment>, out: &mut impl FnMut(HostOutput)) {
    match output {
        Output::Deliver(segment) => to_tcp.push(segment),
        Output::Transmit(frame) => out(HostOutput::Transmit(frame)),
        Output::Event(event) => out(HostOutput::Event(event)),
        // Simulated links carry packets of any length, so endpoints refuse none.
        Output::Refused { .. } => {}
    }
}

impl<T> Machine for Host<T>
where
    T: Machine,
    T::Input: From<Segment>,
    T::Output: Into<TcpOutput>,
{
    type Input = HostInput<T::Input>;
    type Output = HostOutput;

    fn handle_input(
        &mut self,
        now: Time,
        input: HostInput<T::Input>,
        out: &mut impl FnMut(HostOutput),
    ) {
        match input {
            HostInput::Tcp(input) => {
                let to_endpoint = &mut self.to_endpoint;
                self.tcp
                    .handle_input(now, input, &mut |o| to_endpoint.extend(segment_of(o)));
            }
            HostInput::Frame(frame) => {
                let to_tcp = &mut self.to_tcp;
                self.endpoint
                    .handle_input(now, Input::Frame(frame), &mut |o| sort(o, to_tcp, out));
            }
        }
        self.settle(now, out);
    }

    /// The endpoint first, then TCP.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(HostOutput)) {
        let is_due = |d: Option<Deadline>| d.is_some_and(|d| d.at <= now);
        if is_due(self.endpoint.deadline()) {
            let to_tcp = &mut self.to_tcp;
            self.endpoint
                .handle_timeout(now, &mut |o| sort(o, to_tcp, out));
        }
        if is_due(self.tcp.deadline()) {
            let to_endpoint = &mut self.to_endpoint;
            self.tcp
                .handle_timeout(now, &mut |o| to_endpoint.extend(segment_of(o)));
        }
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.endpoint.deadline(), self.tcp.deadline())
    }
}
