//! Routes over stated links.

use super::*;

/// Two links between `a` and `b`, one there alone, and one from `b` on to `c`, with a flow.
fn parallel(keys: &str) -> String {
    let link = |name: &str, ends: (&str, &str), more: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{}\"\nto = \"{}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = \"5 packets\"\n{more}",
            ends.0, ends.1
        )
    };
    let links = [
        link("wifi", ("a", "b"), ""),
        link("lte", ("a", "b"), ""),
        link("sat", ("a", "b"), "simplex = true\n"),
        link("core", ("c", "b"), ""),
        link("c", ("c", "d"), ""),
    ];
    let head = "schema = 1\nname = \"s\"\nrun = { duration = \"1 s\" }\n";
    format!("{head}{}{}", links.concat(), flow(keys))
}

fn round_trip(keys: &str) -> (Vec<String>, Vec<String>) {
    let network = parse(&parallel(keys));
    let graph = network.graph();
    let stops = network.flows[0].routes(0).next().unwrap();
    let stops: Vec<Stop> = stops.iter().map(|stop| graph.stop(stop).unwrap()).collect();
    let RoundTrip { there, back } = Router::new(&graph).round_trip(&stops).unwrap();
    (names(&graph, &there), names(&graph, &back))
}

#[test]
fn a_stated_link_is_taken_in_the_direction_of_travel_and_back_again() {
    for (keys, there, back) in [
        (
            "from = \"a\"\nto = \"d\"",
            ["wifi", "core/back", "c"],
            ["c/back", "core", "wifi/back"],
        ),
        (
            "from = \"a\"\nto = \"d\"\nvia = [\"lte\"]",
            ["lte", "core/back", "c"],
            ["c/back", "core", "lte/back"],
        ),
        (
            "from = \"d\"\nto = \"a\"\nvia = [\"core\", \"lte\"]",
            ["c/back", "core", "lte/back"],
            ["lte", "core/back", "c"],
        ),
        (
            "from = \"d\"\nto = \"a\"\nvia = [\"b\", \"lte/back\"]",
            ["c/back", "core", "lte/back"],
            ["lte", "core/back", "c"],
        ),
    ] {
        let found = round_trip(keys);
        assert_eq!(
            found,
            (
                there.map(str::to_owned).to_vec(),
                back.map(str::to_owned).to_vec()
            )
        );
    }
}

#[test]
fn datagrams_go_over_a_link_without_a_way_back_where_tcp_may_not() {
    let keys = "from = \"a\"\nto = \"b\"\nvia = [\"sat\"]";
    let cbr = "{ kind = \"cbr\", packet = \"100 B\", interval = \"10 ms\" }";
    let network = parse(&parallel(keys).replace("{ kind = \"ftp\" }", cbr));
    assert_eq!(network.flows[0].via, ["sat"]);
    assert_eq!(
        problems(&parallel(keys)),
        [
            "net.toml:45:7: the link `sat` is simplex, and nothing comes back over it; make it duplex, or name another link"
        ]
    );
}

#[test]
fn ways_that_cannot_be_are_refused_with_their_line() {
    for (via, wanted) in [
        (
            "[\"ltw\"]",
            "net.toml:45:8: unknown node or link `ltw`; did you mean `lte`?",
        ),
        (
            "[\"c\"]",
            "net.toml:45:8: `c` is a node and a link; name another stop",
        ),
        (
            "[\"a\"]",
            "net.toml:45:7: `a` is an end of the flow; name nodes and links between",
        ),
        (
            "[\"lte\", \"b\"]",
            "net.toml:45:7: `b` is an end of the flow",
        ),
        (
            "[\"wifi\", \"lte\"]",
            "net.toml:45:7: the path passes `a` twice",
        ),
        ("[\"core\"]", "net.toml:45:7: the path passes `b` twice"),
    ] {
        let found = problems(&parallel(&format!("from = \"a\"\nto = \"b\"\nvia = {via}")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(wanted), "{found:?}\nnot {wanted}");
    }
    let found = problems(&parallel("from = \"wifi\"\nto = \"b\""));
    assert!(
        found[0].starts_with("net.toml:43:8: unknown node `wifi`"),
        "{found:?}"
    );
}
