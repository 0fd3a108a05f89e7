use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::control::commands;
use crate::control::http::{HttpServer, LIMITS};

#[test]
fn an_ended_node_is_unavailable_and_other_paths_name_the_right_one() {
    let (handle, queue) = commands::channel().unwrap();
    drop(queue);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = HttpServer::start(listener, router(Arc::new(handle)), LIMITS).unwrap();
    for (path, status) in [("/metrics", "503 "), ("/", "404 ")] {
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        assert_eq!(text.contains("are at /metrics"), path == "/", "{text}");
    }
}
