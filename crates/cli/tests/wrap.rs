//! `polypath wrap` with programs that know nothing of it.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::{polypath, printed};

/// Whether the library and the programs are there; prints the reason if not.
fn can_wrap(programs: &[&str]) -> bool {
    let library = Path::new(env!("CARGO_BIN_EXE_polypath")).with_file_name("libpolypath_wrap.so");
    if !library.exists() {
        eprintln!(
            "skipped: no {}: run `cargo build -p polypath-wrap`",
            library.display()
        );
        return false;
    }
    for program in programs {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("skipped: no {program}");
            return false;
        }
    }
    true
}

/// A free port: the one of a socket that is closed again.
fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

fn wrap(port: u16, program: &[&str]) -> Command {
    let mut command = polypath();
    command
        .args([
            "wrap",
            "--rate",
            "50 Mbit/s",
            "--connections",
            "3",
            "--listen",
            "127.0.0.1",
        ])
        .args(["--port", &port.to_string(), "--"])
        .args(program);
    command
}

/// Runs a wrapped program of Python to its end.
fn run_python(port: u16, program: &str) -> Output {
    wrap(port, &["python3", "-c", program]).output().unwrap()
}

/// python3's HTTP server, killed on drop.
struct WebServer {
    child: Child,
    port: u16,
}

impl WebServer {
    fn start(folder: &Path, wrapped_at: Option<u16>) -> Self {
        let port = free_port();
        let number = port.to_string();
        let program = [
            "python3",
            "-u",
            "-m",
            "http.server",
            &number,
            "--bind",
            "127.0.0.1",
        ];
        let plain = || {
            let mut command = Command::new(program[0]);
            command.args(&program[1..]);
            command
        };
        let mut command = wrapped_at.map_or_else(plain, |wrap_port| wrap(wrap_port, &program));
        let child = command
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { child, port };
        let mut line = String::new();
        let output = server.child.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert!(line.contains("Serving HTTP"), "{line}");
        server
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // A wrapped one: the signal reaches the program.
        let pid = i32::try_from(self.child.id()).unwrap();
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGTERM,
        );
        let _ = self.child.wait();
    }
}

fn file(folder: &Path, len: u32) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len).flat_map(u32::to_le_bytes).collect();
    fs::write(folder.join("media.ts"), &bytes).unwrap();
    bytes
}

/// The body, and the log of the program that got it.
fn body(output: Output) -> (Vec<u8>, String) {
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{log}");
    (output.stdout, log)
}

#[test]
fn curl_gets_a_file_of_python_over_several_connections() {
    if !can_wrap(&["curl", "python3"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = file(folder.path(), 500_000);
    let port = free_port();
    let server = WebServer::start(folder.path(), Some(port));
    let curl = ["curl", "-sS", "--max-time", "60", &server.url("media.ts")];
    let (received, log) = body(wrap(port, &curl).output().unwrap());
    assert!(received == bytes, "{} of {} B", received.len(), bytes.len());
    assert!(log.contains("several connections are used"), "{log}");
    // A client that is not wrapped gets the same.
    let (received, _) = body(Command::new(curl[0]).args(&curl[1..]).output().unwrap());
    assert!(received == bytes);
    // Many small requests over connections of their own, and errors of the server.
    let (received, _) = body(
        wrap(port, &["curl", "-sS", &server.url("missing")])
            .output()
            .unwrap(),
    );
    assert!(String::from_utf8_lossy(&received).contains("404"));
}

#[test]
fn a_peer_that_knows_nothing_of_it_sees_plain_tcp() {
    if !can_wrap(&["curl", "python3"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = file(folder.path(), 100_000);
    let server = WebServer::start(folder.path(), None);
    let port = free_port();
    let curl = ["curl", "-sS", &server.url("media.ts")];
    let (received, log) = body(wrap(port, &curl).output().unwrap());
    assert!(received == bytes);
    assert!(!log.contains("several connections"), "{log}");
    // The errors of connecting are those of the system.
    let refused = format!("http://127.0.0.1:{}/", free_port());
    let output = wrap(port, &["curl", "-sS", &refused]).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(7),
        "curl's code for a refused connection"
    );
}

#[test]
fn threads_and_selectors_of_a_python_client_work() {
    if !can_wrap(&["python3"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = file(folder.path(), 50_000);
    let port = free_port();
    let server = WebServer::start(folder.path(), Some(port));
    let program = format!(
        "import asyncio, hashlib, threading, urllib.request\n\
         url = '{}'\n\
         sums = []\n\
         def get():\n    sums.append(hashlib.sha256(urllib.request.urlopen(url).read()).hexdigest())\n\
         async def raw():\n\
         \x20   r, w = await asyncio.open_connection('127.0.0.1', {})\n\
         \x20   assert w.get_extra_info('peername')[1] == {}, w.get_extra_info('peername')\n\
         \x20   w.write(b'GET /media.ts HTTP/1.0\\r\\n\\r\\n')\n\
         \x20   data = await r.read()\n\
         \x20   sums.append(hashlib.sha256(data.split(b'\\r\\n\\r\\n', 1)[1]).hexdigest())\n\
         threads = [threading.Thread(target=get) for _ in range(6)]\n\
         [t.start() for t in threads]; [t.join() for t in threads]\n\
         asyncio.run(raw())\n\
         print(len(sums), *set(sums))\n",
        server.url("media.ts"),
        server.port,
        server.port,
    );
    let output = run_python(port, &program);
    let (printed, log) = body(output);
    let sum = Command::new("sha256sum")
        .arg(folder.path().join("media.ts"))
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sum = sum.split(' ').next().unwrap();
    assert_eq!(
        String::from_utf8(printed).unwrap().trim(),
        format!("7 {sum}"),
        "{log}"
    );
    assert_eq!(
        log.matches("several connections are used").count(),
        7,
        "{log}"
    );
    assert_eq!(bytes.len(), 200_000);
}

#[test]
fn ffmpeg_reads_what_a_wrapped_server_has() {
    if !can_wrap(&["python3"]) || Command::new("ffmpeg").arg("-version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("ffmpeg")
        .args([
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            "testsrc=size=320x240:rate=25:duration=4",
        ])
        .args([
            "-c:v",
            "mpeg2video",
            "-b:v",
            "1M",
            "-f",
            "mpegts",
            "clip.ts",
        ])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(made.success());
    let port = free_port();
    let server = WebServer::start(folder.path(), Some(port));
    let url = server.url("clip.ts");
    let hash = |mut command: Command| {
        let (printed, log) = body(command.output().unwrap());
        (String::from_utf8(printed).unwrap(), log)
    };
    let program = ["ffmpeg", "-v", "error", "-i", &url, "-f", "md5", "-"];
    let (wrapped, log) = hash(wrap(port, &program));
    let mut local = Command::new("ffmpeg");
    local
        .args(["-v", "error", "-i", "clip.ts", "-f", "md5", "-"])
        .current_dir(folder.path());
    assert_eq!(wrapped, hash(local).0);
    assert!(log.contains("several connections are used"), "{log}");
}

/// A server that sends `len` bytes to its first client, ends the connection by `end`, and exits.
fn one_shot(wrap_port: u16, port: u16, end: &str) -> Child {
    let program = format!(
        "import socket, struct\n\
         s = socket.socket()\n\
         s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
         s.bind(('127.0.0.1', {port})); s.listen(1)\n\
         print('listening', flush=True)\n\
         c = s.accept()[0]\n\
         c.sendall(b'x' * 1000000)\n\
         {end}\n"
    );
    let mut child = wrap(wrap_port, &["python3", "-c", &program])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = child.stdout.as_mut().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "listening\n");
    child
}

/// The bytes and the end that a client gets.
fn read_all(wrap_port: u16, port: u16) -> String {
    let program = format!(
        "import socket\n\
         c = socket.create_connection(('127.0.0.1', {port}))\n\
         n = 0\n\
         try:\n\
         \x20   while True:\n\
         \x20       b = c.recv(65536)\n\
         \x20       if not b: break\n\
         \x20       n += len(b)\n\
         \x20   print('end', n)\n\
         except ConnectionResetError: print('reset')\n"
    );
    let output = run_python(wrap_port, &program);
    printed(&output).trim().to_owned()
}

#[test]
fn the_last_bytes_of_a_server_that_exits_arrive() {
    if !can_wrap(&["python3"]) {
        return;
    }
    let (wrap_port, port) = (free_port(), free_port());
    let mut server = one_shot(wrap_port, port, "c.close()");
    assert_eq!(read_all(wrap_port, port), "end 1000000");
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_reset_of_the_server_is_one_for_the_client() {
    if !can_wrap(&["python3"]) {
        return;
    }
    let (wrap_port, port) = (free_port(), free_port());
    let end = concat!(
        "import time; time.sleep(0.5)\n",
        "c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); c.close()",
    );
    let mut server = one_shot(wrap_port, port, end);
    assert_eq!(read_all(wrap_port, port), "reset");
    assert!(server.wait().unwrap().success());
}

/// A service that closes a connection with input left resets it, which must not look like the end of
/// what it sent.
#[test]
fn a_service_that_refuses_input_resets_the_client() {
    if !can_wrap(&["python3"]) {
        return;
    }
    let (wrap_port, port) = (free_port(), free_port());
    let mut server = one_shot(wrap_port, port, "import time; time.sleep(0.5); c.close()");
    let program = format!(
        "import select, socket\n\
         s = socket.create_connection(('127.0.0.1', {port}))\n\
         s.setblocking(False)\n\
         # The kernel returns the error of a reset once, to the first call: so one thread calls both.\n\
         try:\n\
         \x20   while True:\n\
         \x20       reads, writes, _ = select.select([s], [s], [])\n\
         \x20       if reads and not s.recv(65536): break\n\
         \x20       if writes: s.send(bytes(65536))\n\
         \x20   print('end')\n\
         except ConnectionResetError: print('reset')\n"
    );
    let output = run_python(wrap_port, &program);
    assert_eq!(printed(&output).trim(), "reset");
    assert!(server.wait().unwrap().success());
}

/// A client that resets its connection does not leave the service waiting.
#[test]
fn a_reset_of_the_client_ends_the_connection_to_the_service() {
    if !can_wrap(&["python3"]) {
        return;
    }
    let (wrap_port, port) = (free_port(), free_port());
    let end = "c.settimeout(20)\n\
               try: print('end', len(c.recv(9)), len(c.recv(9)))\n\
               except ConnectionResetError: print('reset')";
    let mut server = one_shot(wrap_port, port, end);
    let program = format!(
        "import socket, struct, time\n\
         s = socket.create_connection(('127.0.0.1', {port}))\n\
         n = 0\n\
         while n < 1000000: n += len(s.recv(65536))\n\
         s.sendall(b'hello')\n\
         time.sleep(0.5)\n\
         s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n\
         s.close()\n\
         time.sleep(5)\n"
    );
    let output = run_python(wrap_port, &program);
    assert!(output.status.success(), "{output:?}");
    assert!(server.wait().unwrap().success(), "the service waits");
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    if !can_wrap(&[]) {
        return;
    }
    let code = |program: &[&str]| wrap(free_port(), program).output().unwrap().status.code();
    assert_eq!(code(&["true"]), Some(0));
    let echoed = wrap(free_port(), &["echo", "to standard output"])
        .output()
        .unwrap();
    assert_eq!(printed(&echoed), "to standard output\n");
    assert_eq!(code(&["sh", "-c", "exit 9"]), Some(9));
    assert_eq!(code(&["sh", "-c", "kill -KILL $$"]), Some(137));
    let output = wrap(free_port(), &["no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("no-such-program"), "{message}");
}

/// Debian's ldconfig is linked statically, since it repairs what other programs are linked to.
#[test]
fn a_program_that_does_not_load_the_library_is_a_warning() {
    if !can_wrap(&["/usr/sbin/ldconfig"]) {
        return;
    }
    let warnings = |program: &[&str]| {
        let output = wrap(free_port(), program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let log = String::from_utf8(output.stderr).unwrap();
        log.matches("has not loaded the library").count()
    };
    assert_eq!(warnings(&["/usr/sbin/ldconfig", "--version"]), 1);
    assert_eq!(warnings(&["sh", "-c", "exit 0"]), 0);
}

#[test]
fn sigterm_reaches_the_program() {
    if !can_wrap(&[]) {
        return;
    }
    let mut child = wrap(
        free_port(),
        &[
            "sh",
            "-c",
            "trap 'echo ended; exit 3' TERM; echo begun; sleep 30 >/dev/null & wait",
        ],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    drop(output.read_to_string(&mut line));
}
