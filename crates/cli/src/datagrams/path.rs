//! A path on the command line.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use polypath_live::config::unspecified;

use super::string;

/// An address of the receiver, and the uplink that leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathArg {
    pub(super) uplink: Option<Uplink>,
    pub(super) address: SocketAddr,
}

/// An uplink of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Uplink {
    Interface(String),
    Address(IpAddr),
}

impl FromStr for PathArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (uplink, address) = match text.split_once('=') {
            Some((uplink, address)) => (Some(uplink), address),
            None => (None, text),
        };
        let refused = || {
            format!(
                "`{address}` is no address and port, such as 198.51.100.7:7001 or [2001:db8::7]:7001, with \
                 an uplink before it if there are several: wwan0=198.51.100.7:7001"
            )
        };
        let uplink = uplink.map(|uplink| match uplink.parse() {
            Ok(address) => Uplink::Address(address),
            Err(_) => Uplink::Interface(uplink.to_owned()),
        });
        let address = address.parse().map_err(|_| refused())?;
        Ok(Self { uplink, address })
    }
}

impl PathArg {
    /// The table of the path `number` to this address of the peer.
    pub(super) fn to_peer(&self, number: usize) -> String {
        let ip = match self.uplink {
            Some(Uplink::Address(address)) => address,
            _ => unspecified(Some(self.address)),
        };
        let remote = format!("remote = \"{}\"\n", self.address);
        self.table(number, SocketAddr::from((ip, 0)), &remote)
    }

    /// The table of the path `number` that this node receives at the address.
    pub(super) fn at_this_node(&self, number: usize) -> String {
        self.table(number, self.address, "")
    }

    fn table(&self, number: usize, local: SocketAddr, remote: &str) -> String {
        let interface = match &self.uplink {
            Some(Uplink::Interface(name)) => format!("interface = {}\n", string(name)),
            _ => String::new(),
        };
        let name = match &self.uplink {
            Some(Uplink::Interface(uplink)) => format!("path{number}-{uplink}"),
            Some(Uplink::Address(uplink)) => format!("path{number}-{uplink}"),
            None => format!("path{number}"),
        };
        format!(
            "[[path]]\nname = {}\nlocal = \"{local}\"\n{interface}{remote}",
            string(&name)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_an_address_and_maybe_an_uplink() {
        let parse = |text: &str| text.parse::<PathArg>();
        let address = "198.51.100.7:7001".parse().unwrap();
        for (text, uplink) in [
            ("198.51.100.7:7001", None),
            (
                "wwan0=198.51.100.7:7001",
                Some(Uplink::Interface("wwan0".to_owned())),
            ),
            (
                "192.0.2.5=198.51.100.7:7001",
                Some(Uplink::Address([192, 0, 2, 5].into())),
            ),
        ] {
            assert_eq!(parse(text), Ok(PathArg { uplink, address }));
        }
        for text in ["198.51.100.7", "wwan0=", "=", "wwan0=example.org:7001"] {
            assert!(
                parse(text).unwrap_err().contains("no address and port"),
                "{text}"
            );
        }
    }
}
