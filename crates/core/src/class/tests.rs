use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;
use crate::packet::{Ecn, FlowId, IpVersion};
use proptest::prelude::*;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A class without conditions.
fn any(name: &str, treatment: Treatment) -> Class {
    Class {
        name: name.into(),
        dscp: Vec::new(),
        protocol: None,
        ports: Vec::new(),
        treatment,
        deadline: None,
    }
}

fn dscp(names: &[&str]) -> Vec<Dscp> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn ports(ranges: &[&str]) -> Vec<PortRange> {
    ranges.iter().map(|range| range.parse().unwrap()).collect()
}

/// The fields of a packet between these ports.
fn fields(name: &str, protocol: u8, ports: Option<[u16; 2]>) -> PacketFields {
    PacketFields {
        dscp: name.parse().unwrap(),
        protocol,
        ports,
    }
}

fn meta(kind: Kind, treatment: Option<Treatment>) -> PacketMeta {
    PacketMeta {
        version: IpVersion::V4,
        protocol: TCP,
        flow: FlowId::default(),
        kind,
        size: 1000,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: treatment.map(|treatment| AssignedClass::new(0, treatment, None)),
    }
}

#[test]
fn the_first_class_of_which_all_conditions_hold_matches() {
    let voice = Class {
        dscp: dscp(&["ef", "af41"]),
        protocol: Some(Protocol::UDP),
        ports: ports(&["5004", "6000-6100"]),
        deadline: Some(Duration::from_millis(80)),
        ..any("voice", Treatment::Media)
    };
    let https = Class {
        ports: ports(&["443"]),
        ..any("https", Treatment::Bulk)
    };
    let rest = any("rest", Treatment::SinglePath);
    let classes: Classes = [voice, https, rest].into_iter().collect();
    assert_eq!(classes.check(), Ok(()));
    let number = |fields| classes.classify(fields).map(|class| class.number);
    for (fields, expected) in [
        (fields("ef", UDP, Some([5004, 40_000])), 0),
        (fields("af41", UDP, Some([40_000, 6000])), 0),
        (fields("af41", UDP, Some([6100, 40_000])), 0),
        (fields("af41", UDP, Some([6101, 40_000])), 2),
        (fields("af42", UDP, Some([5004, 40_000])), 2),
        (fields("ef", TCP, Some([5004, 40_000])), 2),
        // A fragment has no ports.
        (fields("ef", UDP, None), 2),
        (fields("cs0", TCP, Some([50_000, 443])), 1),
        (fields("cs0", UDP, Some([443, 50_000])), 1),
        (fields("ef", UDP, Some([443, 5004])), 0),
    ] {
        assert_eq!(number(fields), Some(expected), "{fields:?}");
    }
    let voice = classes.classify(fields("ef", UDP, Some([5004, 1])));
    assert_eq!(
        voice.and_then(|class| class.deadline()),
        Some(Duration::from_millis(80))
    );
    let without_rest: Classes = classes.iter().take(2).cloned().collect();
    assert_eq!(without_rest.classify(fields("ef", 1, None)), None);
}

#[test]
fn a_packet_without_a_class_is_treated_by_its_kind() {
    let treated = |kind, class| meta(kind, class).treatment();
    for kind in [Kind::PureAck, Kind::Control, Kind::Opaque] {
        assert_eq!(treated(kind, None), Treatment::Media);
    }
    assert_eq!(treated(Kind::Data, None), Treatment::Bulk);
    for kind in [Kind::Data, Kind::Opaque] {
        for treatment in [Treatment::Media, Treatment::Bulk, Treatment::SinglePath] {
            assert_eq!(treated(kind, Some(treatment)), treatment);
        }
    }
    // TCP waits for these.
    for kind in [Kind::PureAck, Kind::Control] {
        assert_eq!(treated(kind, Some(Treatment::Bulk)), Treatment::Media);
        let single = Some(Treatment::SinglePath);
        assert_eq!(treated(kind, single), Treatment::SinglePath);
    }
}

#[test]
fn classes_that_never_match_are_refused_with_their_key() {
    let https = || Class {
        ports: ports(&["443", "8000-8999"]),
        ..any("https", Treatment::Bulk)
    };
    let covered = Class {
        protocol: Some(Protocol::TCP),
        ports: ports(&["8080-8090"]),
        ..any("proxies", Treatment::Media)
    };
    let ping = Class {
        protocol: Some("icmp".parse().unwrap()),
        ports: ports(&["7"]),
        ..any("ping", Treatment::Media)
    };
    let short = Class {
        deadline: Some(Duration::from_millis(1)),
        ..https()
    };
    let short_media = Class {
        treatment: Treatment::Media,
        ..short.clone()
    };
    let all = any("all", Treatment::Bulk);
    let mut nameless = https();
    nameless.name.clear();
    for (classes, key, part) in [
        ([https(), covered].to_vec(), "class.1", "`class.0` matches"),
        ([all.clone(), https()].to_vec(), "class.1", "never matches"),
        ([https(), https()].to_vec(), "class.1.name", "same name"),
        ([ping].to_vec(), "class.0.ports", "only TCP and UDP"),
        ([short].to_vec(), "class.0.deadline", "media"),
        ([short_media].to_vec(), "class.0.deadline", "10 ms to 10 s"),
        ([nameless].to_vec(), "class.0.name", "empty"),
    ] {
        let classes: Classes = classes.into_iter().collect();
        let error = classes.check().unwrap_err();
        assert_eq!(error.key(), key);
        assert!(error.to_string().contains(part), "{error}");
    }
    // The reverse order is that of exceptions and the rule.
    assert_eq!(
        [https(), all].into_iter().collect::<Classes>().check(),
        Ok(())
    );
}

#[test]
fn too_many_classes_are_refused() {
    let class = |port: u16| Class {
        ports: [PortRange::only(port)].to_vec(),
        ..any(&port.to_string(), Treatment::Media)
    };
    let most = u16::try_from(MAX_CLASSES).unwrap();
    let classes = |count: u16| (1..=count).map(class).collect::<Classes>();
    assert_eq!(classes(most).check(), Ok(()));
    let error = classes(most + 1).check().unwrap_err();
    assert_eq!(
        (error.key(), error),
        ("class".into(), ClassError::TooMany(65))
    );
}

#[test]
fn ports_and_protocols_are_parsed_back_and_others_refused() {
    for text in ["0", "5004", "6000-6100", "1-65535"] {
        assert_eq!(text.parse::<PortRange>().unwrap().to_string(), text);
    }
    assert_eq!("7-7".parse(), Ok(PortRange::only(7)));
    for text in ["", "65536", "6100-6000", "-5", "5-", "5-6-7", "http", "5:6"] {
        let error = text.parse::<PortRange>().unwrap_err().to_string();
        assert!(error.contains("\"6000-6100\""), "{error}");
    }
    for number in 0..=u8::MAX {
        let protocol = Protocol::new(number);
        assert_eq!(protocol.to_string().parse(), Ok(protocol));
        assert_eq!(number.to_string().parse(), Ok(protocol));
    }
    for text in ["", "TCP", "256", "-1", "quic"] {
        let error = text.parse::<Protocol>().unwrap_err().to_string();
        assert!(error.contains("udp"), "{error}");
    }
}

/// Few values of each field, so that classes often match and cover each other.
fn small_class() -> impl Strategy<Value = Class> {
    let codepoints = prop::collection::vec(0_u8..3, 0..3);
    let ranges = prop::collection::vec((1_u16..6, 0_u16..3), 0..3);
    let protocol = prop::option::of(prop::sample::select(&[Protocol::TCP, Protocol::UDP][..]));
    (codepoints, protocol, ranges).prop_map(|(codepoints, protocol, ranges)| Class {
        dscp: codepoints.into_iter().filter_map(Dscp::new).collect(),
        protocol,
        ports: ranges
            .into_iter()
            .filter_map(|(first, more)| PortRange::new(first, first + more))
            .collect(),
        ..any("", Treatment::Media)
    })
}

proptest! {
    /// A class that is refused as one that never matches would never match.
    #[test]
    fn what_an_earlier_class_covers_never_matches(
        mut all in prop::collection::vec(small_class(), 1..5),
        codepoint in 0_u8..4,
        protocol in prop::sample::select(&[TCP, UDP, 1][..]),
        from in 0_u16..9,
        to in 0_u16..9,
    ) {
        for (number, class) in all.iter_mut().enumerate() {
            class.name = number.to_string();
        }
        let classes: Classes = all.into_iter().collect();
        let fields = PacketFields {
            dscp: Dscp::new(codepoint).unwrap(),
            protocol,
            ports: (protocol != 1).then_some([from, to]),
        };
        let found = classes.classify(fields).map(|class| usize::from(class.number));
        let unreachable = classes.problems().filter_map(|problem| match problem {
            ClassError::Unreachable { index, .. } => Some(index),
            _ => None,
        });
        for index in unreachable {
            prop_assert_ne!(found, Some(index));
        }
    }
}
