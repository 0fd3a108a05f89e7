//! Files of nodes and relays, and what stands beside them.

use super::*;

#[test]
fn the_key_file_is_beside_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    std::fs::write(&path, GOOD).unwrap();
    let config = NodeConfig::load(&path).unwrap();
    assert_eq!(config.node.key_file, directory.path().join("a.key"));
    let missing = NodeConfig::load(&directory.path().join("b.toml"));
    assert!(matches!(missing, Err(LoadError::Read { .. })));
}

#[test]
fn a_user_that_there_is_not_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    let text = GOOD.replacen("[node]\n", "[node]\nuser = \"no-such-user\"\n", 1);
    std::fs::write(&path, text).unwrap();
    let said = NodeConfig::load(&path).unwrap_err().to_string();
    assert!(
        said.contains("a.toml:3:") && said.contains("useradd"),
        "{said}"
    );
}

#[test]
fn the_file_of_a_relay_is_told_from_a_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let relay = write("r.toml", "[relay]\nkey_file = \"r.key\"\n");
    let said = NodeConfig::load(&relay).unwrap_err().to_string();
    assert!(said.contains("`polypath relay "), "{said}");
    let node = write("a.toml", GOOD);
    let said = relay::RelayFile::load(&node).unwrap_err().to_string();
    assert!(said.contains("`polypath node "), "{said}");
}

#[test]
fn the_nodes_own_key_as_the_peers_is_told_with_its_line_and_all_else() {
    let directory = tempfile::tempdir().unwrap();
    let own = crate::keys::generate(&directory.path().join("a.key")).unwrap();
    let path = directory.path().join("a.toml");
    let text = GOOD.replace(KEY, &own.to_string()).replace("3.0", "-3.0");
    std::fs::write(&path, text).unwrap();
    let said = NodeConfig::load(&path).unwrap_err().to_string();
    assert!(
        said.contains("a.toml:6:") && said.contains("own key"),
        "{said}"
    );
    assert!(said.contains("a.toml:10:"), "{said}");
}
