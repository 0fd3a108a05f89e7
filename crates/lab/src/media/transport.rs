//! The transports that polypath is compared with.

use super::path_use::PathUse;
use crate::mptcp;
use crate::preflight::{PreflightError, require};
use crate::program::{RIST_RECEIVER, RIST_SENDER, SRT};

/// The congestion control of TCP.
pub(super) const TCP_CONGESTION_CONTROL: &str = "cubic";

/// A transport that polypath is compared with; its path is the first, if it has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP on one path.
    Udp,
    /// The kernel's TCP on one path, with cubic.
    Tcp,
    /// The kernel's Multipath TCP (RFC 8684) with this congestion control.
    Mptcp(&'static str),
    /// SRT on one path, with a latency of 120 ms, its default.
    SrtSingle,
    /// SRT's main/backup bonding: the first path, until it looks unstable; with a latency of 120 ms.
    SrtBackup,
    /// SRT's broadcast bonding: every packet on all paths, with a latency of 70 ms.
    SrtBroadcast,
    /// RIST's load sharing, with a buffer of 160 ms.
    RistShared,
    /// RIST with every packet on all paths, with a buffer of 160 ms.
    RistDuplicated,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Udp,
        Self::Tcp,
        Self::Mptcp("cubic"),
        Self::Mptcp("bbr"),
        Self::SrtSingle,
        Self::SrtBackup,
        Self::SrtBroadcast,
        Self::RistShared,
        Self::RistDuplicated,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Udp => "udp".to_owned(),
            Self::Tcp => "tcp".to_owned(),
            Self::Mptcp(congestion_control) => format!("mptcp-{congestion_control}"),
            Self::SrtSingle => "srt-single".to_owned(),
            Self::SrtBackup => "srt-backup".to_owned(),
            Self::SrtBroadcast => "srt-broadcast".to_owned(),
            Self::RistShared => "rist-shared".to_owned(),
            Self::RistDuplicated => "rist-duplicated".to_owned(),
        }
    }

    /// The use of paths that is expected of it.
    pub(super) const fn path_use(self) -> PathUse {
        match self {
            Self::Udp | Self::Tcp | Self::SrtSingle => PathUse::One,
            Self::Mptcp(_) | Self::SrtBackup => PathUse::Connected,
            Self::RistShared => PathUse::Shared,
            Self::SrtBroadcast | Self::RistDuplicated => PathUse::Duplicated,
        }
    }

    /// Checks that the system has it; the error names the remedy.
    ///
    /// # Errors
    /// If a program is not installed, or the kernel lacks a protocol or congestion control.
    pub fn preflight(self) -> Result<(), PreflightError> {
        match self {
            Self::Udp | Self::Tcp => Ok(()),
            Self::Mptcp(congestion_control) => mptcp::preflight(congestion_control),
            Self::SrtSingle | Self::SrtBackup | Self::SrtBroadcast => match SRT.find() {
                Some(_) => Ok(()),
                None => Err(PreflightError::Srt),
            },
            Self::RistShared | Self::RistDuplicated => require(&[RIST_SENDER, RIST_RECEIVER]),
        }
    }
}
