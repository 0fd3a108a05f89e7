//! Loading the files of nodes and relays.

use super::*;

#[test]
fn the_key_file_is_relative_to_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    std::fs::write(&path, GOOD).unwrap();
    let config = NodeConfig::load(&path).unwrap();
    assert_eq!(config.node.key_file, directory.path().join("a.key"));
    let missing = NodeConfig::load(&directory.path().join("b.toml"));
    assert!(matches!(missing, Err(LoadError::File(_))));
}

#[test]
fn an_unknown_user_is_reported_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    let text = GOOD.replacen("[node]\n", "[node]\nuser = \"no-such-user\"\n", 1);
    std::fs::write(&path, text).unwrap();
    let message = NodeConfig::load(&path).unwrap_err().to_string();
    assert!(
        message.contains("a.toml:3:") && message.contains("useradd"),
        "{message}"
    );
}

#[test]
fn the_files_of_nodes_and_relays_are_distinguished() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let relay = write("r.toml", "[relay]\nkey_file = \"r.key\"\n");
    let message = NodeConfig::load(&relay).unwrap_err().to_string();
    assert!(message.contains("polypath relay "), "{message}");
    let node = write("a.toml", GOOD);
    let message = relay::RelayFile::load(&node).unwrap_err().to_string();
    assert!(message.contains("polypath node "), "{message}");
}

#[test]
fn a_peer_with_the_nodes_own_key_is_reported_with_other_mistakes() {
    let directory = tempfile::tempdir().unwrap();
    let own = crate::keys::generate(&directory.path().join("a.key")).unwrap();
    let path = directory.path().join("a.toml");
    let text = GOOD.replace(KEY, &own.to_string()).replace("3.0", "-3.0");
    std::fs::write(&path, text).unwrap();
    let message = NodeConfig::load(&path).unwrap_err().to_string();
    assert!(
        message.contains("a.toml:6:") && message.contains("own key"),
        "{message}"
    );
    assert!(message.contains("a.toml:10:"), "{message}");
}
