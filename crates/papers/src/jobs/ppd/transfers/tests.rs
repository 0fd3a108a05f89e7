use super::*;
use crate::jobs::ppd::idle::Idle;
use crate::jobs::ppd::setting::Topology;

fn job(traffic: Traffic, schemes: &[Scheme], count: u32) -> Transfers {
    Transfers {
        setting: Setting::new(Topology::Apart),
        traffic,
        schemes: schemes.to_vec(),
        bytes: 100_000,
        count,
        seed: 5,
        about: 2,
    }
}

fn run(job: &Transfers) -> Vec<SchemeResult> {
    job.run(&AtomicU64::new(0)).unwrap()
}

#[test]
fn on_idle_paths_all_schemes_take_as_long_and_differ_by_their_bytes() {
    let all = run(&job(None, &Scheme::ALL, 2));
    for scheme in &all[..3] {
        assert_eq!(
            scheme.times, all[0].times,
            "nothing is lost, and path 1 is as fast as path 2"
        );
        assert_eq!((scheme.timed_out, scheme.switches), (0, 0));
        assert!(scheme.background.is_empty());
    }
    let wire = all.iter().map(|scheme| scheme.bytes[1]).collect::<Vec<_>>();
    assert_eq!(
        wire[0], all[0].bytes[0],
        "sizes of the paper: a packet as it is"
    );
    assert!(
        wire[0] < wire[1] && wire[1] < wire[3] && wire[3] < wire[2],
        "{wire:?}"
    );
    assert_eq!(wire[2], 2 * wire[0]);
}

#[test]
fn plain_tcp_does_not_see_whether_there_is_a_second_path() {
    let traffic = Some([[Idle::at(-1.5); 2]; 2]);
    let alone = run(&job(traffic, &Scheme::ALL[..1], 1));
    let with_second = run(&job(traffic, &Scheme::ALL[..2], 1));
    assert_eq!(alone[0].times, with_second[0].times);
    assert_eq!(alone[0].first, with_second[0].first);
    assert!(alone[0].loads[0][0] > 0.5, "{:?}", alone[0].loads);
}

#[test]
fn a_job_is_known_by_what_it_runs() {
    let key = |job: &Transfers| serde_json::to_string(job).unwrap();
    let first = job(None, &Scheme::ALL, 1);
    let other_guess = Transfers {
        about: 9,
        ..first.clone()
    };
    let other_seed = Transfers {
        seed: 6,
        ..first.clone()
    };
    assert_eq!(key(&first), key(&other_guess));
    assert_ne!(key(&first), key(&other_seed));
    assert_eq!(
        run(&first),
        run(&other_guess),
        "the same parameters, the same result"
    );
}
