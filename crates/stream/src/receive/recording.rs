//! Records the decisions of a reception.

use std::io;
use std::path::Path;

use bytes::Bytes;
use polypath_core::connections::{
    Reception, ReceptionConfig, ReceptionInput, ReceptionOutput, SizedPacket,
};
use polypath_core::machine::{Wake, step};
use polypath_core::time::Time;
use polypath_live::recording::{RecordedMachine, RecordingHeader, start};
use polypath_session::record::{ReceptionEntry, Recorder};

/// A reception, and the recorder of its wakes if there is one.
pub(super) struct RecordedReception {
    reception: Reception<Bytes>,
    recorder: Option<Recorder<ReceptionEntry>>,
}

impl std::ops::Deref for RecordedReception {
    type Target = Reception<Bytes>;

    fn deref(&self) -> &Self::Target {
        &self.reception
    }
}

impl RecordedReception {
    /// A reception that is recorded in the file `path`, if any; fails if that cannot be written.
    pub(super) fn new(config: &ReceptionConfig, path: Option<&Path>) -> io::Result<Self> {
        let machine = RecordedMachine::Reception(*config);
        let recorder = path.map(|path| start(path, &RecordingHeader::new(machine)));
        Ok(Self {
            reception: Reception::new(config),
            recorder: recorder.transpose()?,
        })
    }

    /// Wakes the reception, and passes its outputs on.
    pub(super) fn wake(
        &mut self,
        at: Time,
        wake: Wake<ReceptionInput<Bytes>>,
        out: &mut impl FnMut(ReceptionOutput<Bytes>),
    ) {
        let Some(recorder) = &mut self.recorder else {
            step(&mut self.reception, at, wake, out);
            return;
        };
        let mut entry = ReceptionEntry {
            at,
            wake: match &wake {
                Wake::Input(input) => Wake::Input(input_without_payload(input)),
                Wake::Timeout => Wake::Timeout,
            },
            outputs: Vec::new(),
            deadline: None,
        };
        let deadline = step(&mut self.reception, at, wake, &mut |output| {
            entry.outputs.push(output_without_payload(&output));
            out(output);
        });
        entry.deadline = deadline.map(|deadline| deadline.at);
        recorder(entry);
    }
}

fn input_without_payload(input: &ReceptionInput<Bytes>) -> ReceptionInput<()> {
    match input {
        ReceptionInput::Start => ReceptionInput::Start,
        ReceptionInput::Rtt(rtt) => ReceptionInput::Rtt(*rtt),
        ReceptionInput::Message {
            connection,
            message,
        } => ReceptionInput::Message {
            connection: *connection,
            message: message.clone().map(|sized| SizedPacket {
                packet: (),
                size: sized.size,
            }),
        },
        ReceptionInput::Ended { connection, end } => ReceptionInput::Ended {
            connection: *connection,
            end: *end,
        },
        ReceptionInput::Finish => ReceptionInput::Finish,
        ReceptionInput::Leave => ReceptionInput::Leave,
    }
}

fn output_without_payload(output: &ReceptionOutput<Bytes>) -> ReceptionOutput<()> {
    match output {
        ReceptionOutput::Open(opening) => ReceptionOutput::Open(opening.clone()),
        ReceptionOutput::Send {
            connection,
            message,
        } => ReceptionOutput::Send {
            connection: *connection,
            message: *message,
        },
        ReceptionOutput::SetWindow {
            connection,
            packets,
        } => ReceptionOutput::SetWindow {
            connection: *connection,
            packets: *packets,
        },
        ReceptionOutput::Abandon(connection) => ReceptionOutput::Abandon(*connection),
        ReceptionOutput::Deliver(_) => ReceptionOutput::Deliver(()),
        ReceptionOutput::Lost {
            connection,
            was_open,
        } => ReceptionOutput::Lost {
            connection: *connection,
            was_open: *was_open,
        },
        ReceptionOutput::Limited => ReceptionOutput::Limited,
        ReceptionOutput::Failed(failure) => ReceptionOutput::Failed(*failure),
    }
}
