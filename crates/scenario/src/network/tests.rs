use super::*;

mod multihomed;
mod receivers;
mod spaced;
mod striped;
mod tunnel;
mod ways;

const RACE: &str = include_str!("../../../../scenarios/race.toml");

fn parse(text: &str) -> Network {
    Network::parse(text, "net.toml", &[]).unwrap()
}

fn problems(text: &str) -> Vec<String> {
    let errors = Network::parse(text, "net.toml", &[]).unwrap_err();
    errors.problems().iter().map(ToString::to_string).collect()
}

/// The problems of `network` with `to` in the place of `from`.
fn problems_with(network: &str, from: &str, to: &str) -> Vec<String> {
    assert!(network.contains(from), "{from}");
    problems(&network.replace(from, to))
}

/// A line of three nodes with a branch, and the given `flows`.
fn small(flows: &str) -> String {
    format!(
        r#"schema = 1
name = "small"
run = {{ duration = "10 s" }}
[[link]]
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
queue = "5 packets"
[[link]]
name = "long"
from = "b"
to = "c"
repeat = 3
rate = "1 Mbit/s"
delay = "1 ms"
queue = "5 packets"
[[link]]
from = "c"
to = "d"
simplex = true
rate = "1 Mbit/s"
delay = "1 ms"
queue = "5 packets"
{flows}
"#
    )
}

fn flow(keys: &str) -> String {
    format!("[[flow]]\nname = \"f\"\ntraffic = {{ kind = \"ftp\" }}\n{keys}")
}

fn names(graph: &Graph, route: &[usize]) -> Vec<String> {
    route
        .iter()
        .map(|link| graph.links[*link].name.clone())
        .collect()
}

#[test]
fn excessive_or_ineffective_values_are_refused_with_their_line() {
    let cbr = |traffic: &str| {
        let flow = flow("from = \"a\"\nto = \"b\"");
        small(&flow.replace("{ kind = \"ftp\" }", traffic))
    };
    let ftp = cbr("{ kind = \"ftp\" }");
    for (text, wanted) in [
        (
            ftp.replace("10 s", "400 days"),
            "`400 days` is not a duration",
        ),
        (
            ftp.replace("10 s", "100 h"),
            "net.toml:3:20: `duration` is 360000 s, but must be at most 86400 s",
        ),
        (
            ftp.replace("10 s", "10 us"),
            "net.toml:3:20: 10 us are too short for 20 spans of 1 us or more; make `duration` longer",
        ),
        (
            ftp.replacen("delay = \"1 ms\"", "delay = \"2 h\"", 1),
            "net.toml:8:9: `delay` is 7200 s, but must be at most 3600 s",
        ),
        (
            cbr("{ kind = \"cbr\", packet = \"100 B\", interval = \"1 ns\" }"),
            "`interval` is 1 ns, but must be at least 1 us",
        ),
        (
            cbr("{ kind = \"poisson\", packet = \"100 B\", rate = \"10 Gbit/s\" }"),
            "packets of 100 B at 10 Gbit/s are less than 1 us apart; lower `rate`, or make `packet` larger",
        ),
        (
            cbr("{ kind = \"file\", size = \"2 GB\" }"),
            "`size` is 2 GB, but must be at most 1 GB",
        ),
        (
            cbr("{ kind = \"ftp\" }\ntcp = { min_rto = \"1 us\" }"),
            "`min_rto` is 1 us, but must be at least 1 ms",
        ),
    ] {
        let problems = problems(&text);
        assert!(
            problems.iter().any(|p| p.contains(wanted)),
            "{problems:?}\nwithout {wanted}"
        );
    }
}

#[test]
fn the_race_has_its_nodes_links_and_routes() {
    let network = parse(RACE);
    let graph = network.graph();
    assert_eq!(graph.nodes.len(), 102);
    assert_eq!(graph.links.len(), 2 * 101);
    let mut router = Router::new(&graph);
    let stops: Vec<Stop> = network.flows[0]
        .routes(49)
        .next()
        .unwrap()
        .iter()
        .map(|name| graph.stop(name).unwrap())
        .collect();
    let there = router.route(&stops).unwrap();
    assert_eq!(
        names(&graph, &there),
        ["access-left49", "bottleneck", "access-right49/back"]
    );
    let back = router.route(&[stops[1], stops[0]]).unwrap();
    assert_eq!(
        names(&graph, &back),
        ["access-right49", "bottleneck/back", "access-left49/back"]
    );
}

#[test]
fn repeated_links_stand_in_a_row() {
    let graph = parse(&small(&flow("from = \"a\"\nto = \"c\""))).graph();
    let nodes = ["a", "b", "c"].map(|name| graph.stop(name).unwrap());
    let mut router = Router::new(&graph);
    let there = router.route(&[nodes[0], nodes[2]]).unwrap();
    assert_eq!(names(&graph, &there), ["a-b", "long.0", "long.1", "long.2"]);
    let back = router.route(&[nodes[2], nodes[0]]).unwrap();
    assert_eq!(
        names(&graph, &back),
        ["long.2/back", "long.1/back", "long.0/back", "a-b/back"]
    );
}

#[test]
fn of_two_ways_the_shorter_is_taken_and_of_equal_ones_the_first() {
    let square = |first: &str| {
        let link = |from: &str, to: &str| {
            format!(
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"5 packets\"\n"
            )
        };
        let second = if first == "x" { "y" } else { "x" };
        let links = [
            ("a", first),
            ("a", second),
            ("x", "b"),
            ("y", "b"),
            ("b", "z"),
            ("z", "a"),
        ];
        let links: String = links.iter().map(|(from, to)| link(from, to)).collect();
        let text = format!(
            "schema = 1\nname = \"s\"\nrun = {{ duration = \"1 s\" }}\n{links}{}",
            flow("from = \"a\"\nto = \"b\"")
        );
        let graph = parse(&text).graph();
        let stops = ["a", "b"].map(|name| graph.stop(name).unwrap());
        let route = Router::new(&graph).route(&stops).unwrap();
        names(&graph, &route)
    };
    assert_eq!(square("x"), ["a-x", "x-b"]);
    assert_eq!(square("y"), ["a-y", "y-b"]);
}

#[test]
fn changes_of_tcp_keep_the_rest() {
    let text = small(&flow(
        "from = \"a\"\nto = \"c\"\ntcp = { initial_window = 10 }",
    ));
    let network = Network::parse(&text, "net.toml", &["tcp.ack=52 B".parse().unwrap()]).unwrap();
    let tcp = network.flows[0].tcp.apply(&network.tcp);
    assert_eq!(tcp.initial_window, 10);
    assert_eq!(tcp.ack.0, 52);
}

#[test]
fn what_cannot_be_run_is_refused_with_its_line() {
    for (flows, wanted) in [
        (
            flow("from = \"a\"\nto = \"q\""),
            "net.toml:29:6: unknown node `q`",
        ),
        (
            flow("from = \"a\"\nto = \"d\""),
            "net.toml:29:6: no links lead from `d` to `a`",
        ),
        (
            flow("from = \"a\"\nto = \"b\"\nvia = [\"c\"]"),
            "net.toml:30:7: the path passes `b` twice",
        ),
        (
            flow("from = \"a\"\nto = \"b\"\ntcp = { varant = \"reno\" }"),
            "net.toml:30:9: unknown key `varant`",
        ),
        (
            flow("from = \"a\"\nto = \"b\"\nstart = \"10 s\""),
            "net.toml:30:9: the run is over at 10 s",
        ),
        (
            flow("from = \"a\"\nto = \"a\""),
            "net.toml:29:6: the flow leads from `a` to itself",
        ),
    ] {
        let found = problems(&small(&flows));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(wanted), "{found:?}\nnot {wanted}");
    }
}

/// Four hosts at a router, `h3` of which only receives, and flows between them.
fn star(flows: &str) -> String {
    let link = |host: u32| {
        let simplex = if host == 3 { "simplex = true\n" } else { "" };
        format!(
            "[[link]]\nfrom = \"hub\"\nto = \"h{host}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = \"5 packets\"\n{simplex}"
        )
    };
    let links: String = (0..4).map(link).collect();
    let head = "schema = 1\nname = \"star\"\nrun = { duration = \"10 s\" }\n";
    format!("{head}{links}{flows}\n")
}

#[test]
fn every_number_of_a_flow_has_a_way() {
    let few = flow("from = \"hub\"\nto = \"h{}\"\ncount = 3");
    assert_eq!(parse(&star(&few)).flows[0].count, 3);
    for (keys, wanted) in [
        (
            "from = \"h{}\"\nto = \"h1\"\ncount = 3",
            "net.toml:33:6: the flow leads from `h1` to itself; name another node",
        ),
        (
            "from = \"h{}\"\nto = \"h1\"\nvia = [\"hub\"]\ncount = 3",
            "net.toml:33:6: the flow leads from `h1` to itself; name another node",
        ),
        (
            "from = \"hub\"\nto = \"h{}\"\ncount = 6",
            "net.toml:33:6: no links lead from `h3` to `hub`",
        ),
        (
            "from = \"h0\"\nto = \"h2\"\nvia = [\"h{}\"]\ncount = 2",
            "net.toml:34:7: `h0` is an end of the flow; name nodes and links between",
        ),
        (
            "from = \"h0\"\nto = \"h2\"\nvia = [\"h{+1}\"]\ncount = 1",
            "net.toml:34:7: the path passes `hub` twice",
        ),
        (
            "from = \"hub\"\nto = \"h{+2}\"\ncount = 3",
            "net.toml:33:6: no links lead from `h3` to `hub`",
        ),
    ] {
        let found = problems(&star(&flow(keys)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(wanted), "{found:?}\nnot {wanted}");
    }
    let gap = flow("from = \"hub\"\nto = \"h{}\"\ncount = 6");
    let gap = star(&gap).replace("\"h1\"", "\"h5\"");
    let found = problems(&gap);
    assert!(
        found[0].starts_with("net.toml:33:6: unknown node `h1`"),
        "{found:?}"
    );
}

#[test]
fn a_queue_that_admits_no_packet_of_a_flow_on_its_way_is_refused_with_its_line() {
    let parse = |flows: &str| {
        let text = small(flows).replacen("5 packets", "1200 B", 1);
        let mut files = |_: &str| Ok(b"0 100\n1 1201\n".to_vec());
        Network::parse_with(&text, "net.toml", &[], &mut files)
    };
    let of = |traffic: &str, keys: &str| flow(keys).replace("{ kind = \"ftp\" }", traffic);
    let cbr = "{ kind = \"cbr\", packet = \"1201 B\", interval = \"10 ms\" }";
    let trace = "{ kind = \"trace\", file = \"voice.txt\" }";
    let ftp = "{ kind = \"ftp\" }";
    let datagram = "the queue of link `a-b`, 1.2 kB, admits no datagram of 1.201 kB";
    for (traffic, keys, wanted) in [
        (
            cbr,
            "from = \"a\"\nto = \"c\"",
            format!("net.toml:27:36: {datagram}"),
        ),
        (
            trace,
            "from = \"a\"\nto = \"c\"",
            format!("net.toml:27:36: {datagram}"),
        ),
        (
            ftp,
            "from = \"a\"\nto = \"c\"\ntcp = { segment = \"1201 B\" }",
            "net.toml:30:19: the queue of link `a-b`, 1.2 kB, admits no segment of 1.201 kB"
                .to_owned(),
        ),
        (
            ftp,
            "from = \"c\"\nto = \"a\"\ntcp = { ack = \"1201 B\" }",
            "net.toml:30:15: the queue of link `a-b`, 1.2 kB, admits no ACK of 1.201 kB".to_owned(),
        ),
    ] {
        let errors = parse(&of(traffic, keys)).unwrap_err();
        let found: Vec<String> = errors.problems().iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&wanted), "{found:?}\nnot {wanted}");
        let elsewhere = keys.replace("\"a\"", "\"b\"");
        assert!(parse(&of(traffic, &elsewhere)).is_ok(), "not on its route");
    }
}

#[test]
fn impossible_links_are_refused_with_their_line() {
    let text = small(&flow("from = \"a\"\nto = \"c\""));
    let zero = text.replacen("1 Mbit/s", "0 bit/s", 1);
    let found = problems(&zero);
    assert!(
        found[0].starts_with("net.toml:7:8: a rate of zero"),
        "{found:?}"
    );
    let twice = text.replacen("name = \"long\"\n", "name = \"a-b\"\nrepeat = 1\n", 1);
    let twice = twice.replacen("repeat = 3\n", "", 1);
    let found = problems(&twice);
    assert!(found[0].contains("two links are called `a-b`"), "{found:?}");
    let unknown = text.replacen("simplex", "simplx", 1);
    let found = problems(&unknown);
    assert!(found[0].contains("did you mean `simplex`?"), "{found:?}");
}

#[test]
fn every_preset_connects_its_hosts() {
    let link = r#"{ rate = "1 Mbit/s", delay = "1 ms", queue = "5 packets" }"#;
    for (topology, from, to, hops) in [
        (
            format!("preset = \"merge\"\nsenders = 3\naccess = {link}\nbottleneck = {link}"),
            "sender2",
            "sink",
            2,
        ),
        (
            format!("preset = \"chain\"\nhops = 5\nhosts = 2\ncore = {link}"),
            "n1h0",
            "n4h1",
            5,
        ),
        (
            format!("preset = \"parallel-paths\"\npaths = 2\nhops = 3\ncore = {link}"),
            "server",
            "client",
            3,
        ),
    ] {
        let flow = flow(&format!("from = \"{from}\"\nto = \"{to}\""));
        let text = format!(
            "schema = 1\nname = \"p\"\nrun = {{ duration = \"1 s\" }}\n[topology]\n{topology}\n{flow}"
        );
        let graph = parse(&text).graph();
        let stops = [from, to].map(|name| graph.stop(name).unwrap());
        assert_eq!(Router::new(&graph).route(&stops).unwrap().len(), hops);
    }
}
