use super::*;

fn shown(text: &str) -> Vec<String> {
    let points = grid(text, "x.toml", &[]).unwrap();
    let words = |point: &Vec<Override>| {
        let words: Vec<String> = point.iter().map(ToString::to_string).collect();
        words.join(" ")
    };
    points.iter().map(words).collect()
}

#[test]
fn a_grid_has_every_combination_in_order() {
    assert_eq!(shown("name = \"x\""), [""]);
    let text = "[sweep]\ntcp.variant = [\"reno\", \"sack\"]\n\"flow.0.count\" = [1, 2]";
    assert_eq!(
        shown(text),
        [
            "tcp.variant=reno flow.0.count=1",
            "tcp.variant=reno flow.0.count=2",
            "tcp.variant=sack flow.0.count=1",
            "tcp.variant=sack flow.0.count=2",
        ]
    );
}

#[test]
fn a_swept_key_without_a_list_is_refused_with_its_line() {
    for text in ["\n[sweep]\nseed = 1", "\n[sweep]\nseed = []"] {
        let errors = grid(text, "x.toml", &[]).unwrap_err().to_string();
        assert!(
            errors.starts_with("x.toml:3:8: `seed` is swept"),
            "{errors}"
        );
    }
}

#[test]
fn too_many_combinations_are_refused() {
    let axis = "[0,1,2,3,4,5,6,7,8,9,10]";
    let text = format!("[sweep]\na={axis}\nb={axis}\nc={axis}\nd={axis}\ne={axis}");
    let errors = grid(&text, "x.toml", &[]).unwrap_err().to_string();
    assert!(errors.contains("more than 100000"), "{errors}");
}

#[test]
fn redundant_axes_and_overrides_of_swept_keys_are_refused() {
    let file = "flow = [{ name = \"f\" }]\n[sweep]\n";
    for (sweep, set, wanted) in [
        (
            "name = [\"a\", \"b\"]",
            None,
            "x.toml:3:8: `name` is the same for all points",
        ),
        (
            "\"sweep.x\" = [1, 2]",
            None,
            "x.toml:3:13: `sweep.x` is the same for all points",
        ),
        (
            "sweep.sweep.x = [1, 2]",
            None,
            "x.toml:3:17: `sweep.sweep.x` is the same for all points",
        ),
        (
            "seed = [1, 2, 1]",
            None,
            "x.toml:3:15: `1` is listed twice; remove one",
        ),
        (
            "flow.f.count = [1]\n\"flow.0.count\" = [2]",
            None,
            "x.toml:4:18: `flow.0.count` is swept twice",
        ),
        (
            "\"link.0.queue.limit\" = [\"5 kB\"]\n\"link.0.queue\" = [\"9 kB\"]",
            None,
            "x.toml:4:18: `link.0.queue` and `link.0.queue.limit` are swept, and one is part of the other; remove one",
        ),
        (
            "\"flow.f\" = [{ count = 1 }]\n\"flow.0.count\" = [2]",
            None,
            "x.toml:4:18: `flow.0.count` and `flow.f` are swept, and one is part of the other; remove one",
        ),
        (
            "flow.f.count = [1, 2]",
            Some("flow.0.count=3"),
            "--set flow.0.count=3: `flow.f.count` is swept at x.toml:3:16; remove",
        ),
        (
            "tcp.variant = [\"reno\", \"sack\"]",
            Some("tcp={ variant = \"cubic\" }"),
            "--set tcp={ variant = \"cubic\" }: `tcp.variant` is swept at x.toml:3:15; remove",
        ),
        (
            "tcp = [{ variant = \"reno\" }, {}]",
            Some("tcp.variant=cubic"),
            "--set tcp.variant=cubic: `tcp` is swept at x.toml:3:7; remove",
        ),
        (
            "flow.f.count = [1, 2]",
            Some("flow=[]"),
            "--set flow=[]: `flow.f.count` is swept at x.toml:3:16; remove",
        ),
        (
            "seed = [1]",
            Some("sweep.seed=[1]"),
            "--set sweep.seed=[1]: a sweep is part",
        ),
    ] {
        let overrides: Vec<Override> = set.iter().map(|set| set.parse().unwrap()).collect();
        let text = format!("{file}{sweep}\n");
        let errors = grid(&text, "x.toml", &overrides).unwrap_err().to_string();
        assert!(errors.starts_with(wanted), "{errors}\nwithout {wanted}");
    }
    let overrides = [
        "flow.f.counts=1".parse().unwrap(),
        "seeds=2".parse().unwrap(),
    ];
    let text = format!("{file}flow.f.count = [1, 2]\nseed = [1, 1.0, \"1\"]");
    assert_eq!(
        grid(&text, "x.toml", &overrides).map(|points| points.len()),
        Ok(6)
    );
}

#[test]
fn a_key_that_is_set_twice_is_refused_with_both_values() {
    let text = "[run]\nduration = 1\n[[path]]\nname = \"wifi\"\nrate = 2\n";
    let refused = |set: [&str; 2]| {
        let overrides = set.map(|set| set.parse().unwrap());
        let errors = grid(text, "x.toml", &overrides).unwrap_err();
        errors.to_string()
    };
    assert_eq!(
        refused(["run.duration=3", "run.duration=4"]),
        "--set run.duration=4: `run.duration` is set twice: to `4` here, and to `3` by --set run.duration=3; \
         remove one of them"
    );
    // By name and by index.
    let both = refused(["path.0.rate=1", "path.wifi.rate=1"]);
    assert!(both.contains("`path.wifi.rate` is set twice"), "{both}");
    let argument = Override::from_argument("--seconds 5", "run.duration", "5");
    let overrides = ["run.duration=5".parse().unwrap(), argument];
    let errors = grid(text, "x.toml", &overrides).unwrap_err().to_string();
    assert!(errors.starts_with("--seconds 5: "), "{errors}");
    let others = ["run=1", "path.0.rate=1"].map(|set| set.parse().unwrap());
    assert!(grid(text, "x.toml", &others).is_ok());
}
