//! Receiver windows that change.

use super::*;

fn changing(changes: &str) -> String {
    small(&flow(&format!(
        "from = \"a\"\nto = \"c\"\nreceiver_window = {changes}"
    )))
}

#[test]
fn a_receiver_window_is_that_of_the_last_change() {
    let text = changing("[{ at = \"2 s\", window = 5 }, { at = \"4 s\", window = 30 }]");
    let network = parse(&text);
    let changes = &network.flows[0].receiver_window;
    let at = |ms| activity::receiver_window_at(changes, Duration::from_millis(ms), 20);
    assert_eq!(
        [0, 1999, 2000, 3999, 4000, 9000].map(at),
        [20, 20, 5, 5, 30, 30]
    );
    let again = toml::to_string(&network).unwrap();
    assert_eq!(parse(&again), network);
}

#[test]
fn changes_that_cannot_be_are_refused_with_their_line() {
    for (changes, wanted) in [
        (
            "[{ at = \"0 s\", window = 5 }]",
            "net.toml:30:27: `at` is zero; it must be longer",
        ),
        (
            "[{ at = \"2 s\", window = 5 }, { at = \"2 s\", window = 6 }]",
            "net.toml:30:55: 2 s is not later than the change before; sort the changes",
        ),
        (
            "[{ at = \"10 s\", window = 5 }]",
            "net.toml:30:27: the run is over at 10 s, before the window of flow `f` changes at 10 s; set the window",
        ),
        (
            "[{ at = \"1 s\", window = 0 }]",
            "net.toml:30:43: `window` is 0, but must be at least 1",
        ),
        (
            "[{ at = \"1 s\", size = 4 }]",
            "net.toml:30:34: unknown key `size`",
        ),
    ] {
        let found = problems(&changing(changes));
        assert!(
            found.iter().any(|p| p.starts_with(wanted)),
            "{found:?}\nwithout {wanted}"
        );
    }
    let cbr = "{ kind = \"cbr\", packet = \"100 B\", interval = \"10 ms\" }";
    let text = changing("[{ at = \"1 s\", window = 5 }]").replace("{ kind = \"ftp\" }", cbr);
    assert_eq!(
        problems(&text),
        [
            "net.toml:30:19: datagrams have no receiver window; remove `receiver_window` from the flow"
        ]
    );
}

#[test]
fn a_run_that_is_too_short_for_a_change_is_blamed_on_what_set_its_length() {
    let text = changing("[{ at = \"1 s\", window = 5 }, { at = \"3 s\", window = 6 }]");
    let with = |seconds: &str| {
        let length = Override::from_argument(
            &format!("--seconds {seconds}"),
            "run.duration",
            &format!("{seconds} s"),
        );
        let errors = Network::parse(&text, "net.toml", &[length]).unwrap_err();
        let problems = errors.problems().iter();
        problems.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        with("2"),
        [
            "--seconds 2: the run is over at 2 s, before the window of flow `f` changes at 3 s; set the window earlier, or remove the change"
        ]
    );
    let none = with("0");
    assert!(
        none.iter().all(|problem| !problem.contains("window")),
        "{none:?}"
    );
}
