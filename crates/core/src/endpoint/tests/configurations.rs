//! Configurations that an endpoint refuses.

use super::*;

#[test]
fn impossible_configurations_are_refused() {
    let policy = PolicyConfig::single_path(2);
    let error = Endpoint::<Packet>::new(&config(policy)).unwrap_err();
    assert_eq!(
        error,
        ConfigError::Policy(crate::policy::PolicyError::NoSuchPath { named: 2, paths: 2 })
    );
    let all = config(PolicyConfig::DuplicateAll {});
    for paths in [0, 65] {
        let broken = EndpointConfig {
            paths,
            ..all.clone()
        };
        assert_eq!(
            Endpoint::<Packet>::new(&broken).unwrap_err(),
            ConfigError::Paths(paths)
        );
    }
    for threshold in [f64::NAN, -1.0, f64::INFINITY] {
        let probing = ProbingConfig {
            threshold,
            ..all.probing
        };
        let broken = EndpointConfig {
            probing,
            ..all.clone()
        };
        assert_eq!(
            Endpoint::<Packet>::new(&broken).unwrap_err(),
            ConfigError::Threshold
        );
    }
}

#[test]
fn a_detector_needs_copies_of_everything_and_some_time() {
    let with = |policy, paths, copies| {
        let signature = SignatureConfig::default();
        let detector = Some(DetectorConfig {
            signature,
            copies,
            ..DetectorConfig::default()
        });
        let config = EndpointConfig {
            paths,
            detector,
            ..config(policy)
        };
        Endpoint::<Packet>::new(&config).map(|_| ())
    };
    let copies = CopiesConfig::default();
    let refused = Err(ConfigError::DetectorWithoutCopies);
    for path in [0, 1] {
        assert_eq!(with(PolicyConfig::single_path(path), 2, copies), refused);
        assert_eq!(
            with(PolicyConfig::DuplicateAcks { path }, 2, copies),
            refused
        );
        assert_eq!(
            with(PolicyConfig::probe_and_switch(path), 2, copies),
            refused
        );
    }
    assert_eq!(with(PolicyConfig::single_path(0), 1, copies), Ok(()));
    let all = PolicyConfig::DuplicateAll {};
    assert_eq!(with(all, 2, copies), Ok(()));
    let zero = Duration::ZERO;
    let broken = [
        (
            "window",
            CopiesConfig {
                window: zero,
                ..copies
            },
        ),
        ("later", CopiesConfig { later: 0, ..copies }),
        (
            "timeout",
            CopiesConfig {
                timeout: zero,
                ..copies
            },
        ),
    ];
    for (name, copies) in broken {
        let error = with(all, 2, copies).unwrap_err();
        let text = alloc::format!("detector: copies: `{name}` must be more than 0");
        assert_eq!(alloc::string::ToString::to_string(&error), text);
    }
}
