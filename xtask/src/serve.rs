//! A small static file server for this machine only: what any static host does, and no more.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write},
    net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    process::{command, root},
    site,
};

/// More than any browser sends before the body of a request.
const LONGEST_HEAD: u64 = 16 * 1024;

/// What `cargo xtask serve` was asked for.
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) open: bool,
    pub(crate) build: bool,
    pub(crate) prefix: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 8080, open: false, build: true, prefix: "/".into() }
    }
}

/// Builds the site and serves it until the program is stopped.
pub(crate) fn serve(options: &Options) -> Result<()> {
    if options.build {
        site::build()?.print();
    }
    let site = Site::new(&site::dist(), &options.prefix)?;
    let (listeners, port) = listen_near(options.port)?;
    if port != options.port {
        println!("Port {} is taken, so this is the next free one.", options.port);
    }
    let url = format!("http://localhost:{port}{}", site.prefix);
    println!("Serving {url}  (stop with Ctrl+C)");
    if options.open {
        open_browser(&url);
    }
    for worker in start(site, listeners) {
        worker.join().ok();
    }
    Ok(())
}

/// Serves `dist/` under `prefix` on a free port in the background, as long as this program runs.
/// The page's address.
pub(crate) fn serve_in_background(prefix: &str) -> Result<String> {
    let site = Site::new(&site::dist(), prefix)?;
    let (listeners, port) = listen_near(0)?;
    let url = format!("http://127.0.0.1:{port}{}", site.prefix);
    start(site, listeners);
    Ok(url)
}

/// Listens on the first free port from `port` on; port 0 means any.
fn listen_near(port: u16) -> Result<(Vec<TcpListener>, u16)> {
    let mut candidate = port;
    loop {
        match listen(candidate) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                candidate = candidate.checked_add(1).context("no free port")?;
            }
            listeners => {
                let listeners =
                    listeners.with_context(|| format!("could not listen on port {candidate}"))?;
                let port = listeners[0].local_addr()?.port();
                return Ok((listeners, port));
            }
        }
    }
}

/// Both loopback addresses, because `localhost` means either; IPv6 only where there is any.
fn listen(port: u16) -> io::Result<Vec<TcpListener>> {
    let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    match TcpListener::bind((Ipv6Addr::LOCALHOST, v4.local_addr()?.port())) {
        Ok(v6) => Ok(vec![v4, v6]),
        Err(error) if error.kind() == ErrorKind::AddrInUse && port != 0 => Err(error),
        Err(_) => Ok(vec![v4]),
    }
}

fn start(site: Site, listeners: Vec<TcpListener>) -> Vec<thread::JoinHandle<()>> {
    let site = Arc::new(site);
    let accept = |listener: TcpListener| {
        let site = Arc::clone(&site);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = Arc::clone(&site);
                // A reader that goes away in the middle is no event.
                thread::spawn(move || site.answer(&stream).ok());
            }
        })
    };
    listeners.into_iter().map(accept).collect()
}

fn open_browser(url: &str) {
    let opened = match std::env::consts::OS {
        "macos" => command("open", [url]).spawn(),
        "windows" => command("explorer", [url]).spawn(),
        _ => command("xdg-open", [url]).spawn(),
    };
    if let Err(error) = opened {
        println!("Could not open a browser ({error}); open the address yourself.");
    }
}

/// A folder and the sub-path that it is served under.
struct Site {
    folder: PathBuf,
    /// Starts and ends with a slash.
    prefix: String,
}

impl Site {
    fn new(folder: &Path, prefix: &str) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| {
            let relative = folder.strip_prefix(root()).unwrap_or(folder);
            format!("there is no {}; run cargo xtask build first", relative.display())
        })?;
        let prefix = match prefix.trim_matches('/') {
            "" => "/".to_owned(),
            inner => format!("/{inner}/"),
        };
        Ok(Self { folder, prefix })
    }

    /// Reads one request from `stream` and answers it.
    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut head = Vec::new();
        for line in BufReader::new(stream.take(LONGEST_HEAD)).split(b'\n') {
            let line = line?;
            head.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            if head.last().is_some_and(String::is_empty) {
                break;
            }
        }
        let response = match Request::parse(&head) {
            Some(request) => self.respond(&request),
            None => Response::error("400 Bad Request"),
        };
        response.write(stream, !head.first().is_some_and(|line| line.starts_with("HEAD ")))
    }

    fn respond(&self, request: &Request) -> Response {
        if !matches!(request.method, "GET" | "HEAD") {
            return Response::error("405 Method Not Allowed").with("Allow", "GET, HEAD");
        }
        match self.find(request.path) {
            Found::File(path) => {
                Response::file(&path, request.range).unwrap_or_else(|_| Response::not_found())
            }
            Found::FolderWithoutSlash(name) => {
                let location = format!("./{name}/");
                Response::error("301 Moved Permanently").with("Location", location)
            }
            Found::Nothing => Response::not_found(),
        }
    }

    /// The file behind a request's path. It never leaves the folder.
    fn find<'path>(&self, path: &'path str) -> Found<'path> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.prefix.strip_suffix('/') == Some(path) {
            return Found::FolderWithoutSlash(name);
        }
        let inner = path.strip_prefix(&self.prefix).and_then(decode);
        let Some(inner) = inner.filter(|inner| is_plain(inner)) else { return Found::Nothing };
        let Ok(mut found) = self.folder.join(inner).canonicalize() else { return Found::Nothing };
        if found.is_dir() {
            if !name.is_empty() {
                return Found::FolderWithoutSlash(name);
            }
            found.push("index.html");
        }
        // Links were resolved above, so one that points out of the folder is caught here.
        if found.starts_with(&self.folder) { Found::File(found) } else { Found::Nothing }
    }
}

#[derive(Debug, PartialEq)]
enum Found<'path> {
    File(PathBuf),
    /// Its last segment as it was asked for. A browser must add the slash, or relative links break.
    FolderWithoutSlash(&'path str),
    Nothing,
}

/// Percent-decoding; nothing if it is malformed.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Whether every segment is a plain name on every system: no parent, no root, no drive, no NUL.
fn is_plain(path: &str) -> bool {
    let folders_and_file = path.strip_suffix('/').unwrap_or(path);
    path.is_empty()
        || folders_and_file.split('/').all(|segment| {
            !matches!(segment, "" | "." | "..") && !segment.contains(['\\', ':', '\0'])
        })
}

/// The parts of a request that matter here.
struct Request<'head> {
    method: &'head str,
    /// Without the query.
    path: &'head str,
    range: Option<&'head str>,
}

impl<'head> Request<'head> {
    fn parse(head: &'head [String]) -> Option<Self> {
        let (first, headers) = head.split_first()?;
        // Without the empty line at its end the head was cut off or too long.
        headers.last().filter(|line| line.is_empty())?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        words.next().filter(|version| version.starts_with("HTTP/1."))?;
        let path = target.split('?').next().filter(|path| path.starts_with('/'))?;
        let header = |wanted: &str| {
            let mut fields = headers.iter().filter_map(|line| line.split_once(':'));
            fields
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.trim())
        };
        // `If-Range` asks for the range only if a validator still fits; we hand out none.
        let range = header("Range").filter(|_| header("If-Range").is_none());
        Some(Self { method, path, range })
    }
}

/// Which bytes of a file to send.
#[derive(Debug, PartialEq)]
enum Part {
    Whole,
    Bytes(Range<u64>),
    Unsatisfiable,
}

/// Reads a `Range` header for a file of `length` bytes. What is malformed, in another unit or more
/// than one range is ignored, as RFC 9110 allows.
fn part(range: Option<&str>, length: u64) -> Part {
    let bounds = range.and_then(|range| range.strip_prefix("bytes="));
    let Some((first, last)) = bounds.and_then(|bounds| bounds.split_once('-')) else {
        return Part::Whole;
    };
    // A number too large for us is still a number.
    let number = |digits: &str| {
        let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let bytes = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(suffix)) if first.is_empty() => length.saturating_sub(suffix)..length,
        _ => return Part::Whole,
    };
    if bytes.is_empty() { Part::Unsatisfiable } else { Part::Bytes(bytes) }
}

struct Response {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    length: u64,
    body: Box<dyn Read>,
}

impl Response {
    fn new(status: &'static str, length: u64, body: impl Read + 'static) -> Self {
        Self { status, headers: Vec::new(), length, body: Box::new(body) }
    }

    /// The status is the text, too.
    fn error(status: &'static str) -> Self {
        Self::new(status, status.len() as u64, status.as_bytes())
            .with("Content-Type", "text/plain; charset=utf-8")
    }

    fn not_found() -> Self {
        Self::error("404 Not Found")
    }

    fn file(path: &Path, range: Option<&str>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let response = match part(range, length) {
            Part::Whole => Self::new("200 OK", length, file.take(length)),
            Part::Bytes(bytes) => {
                file.seek(SeekFrom::Start(bytes.start))?;
                let sent = bytes.end - bytes.start;
                Self::new("206 Partial Content", sent, file.take(sent)).with(
                    "Content-Range",
                    format!("bytes {}-{}/{length}", bytes.start, bytes.end - 1),
                )
            }
            Part::Unsatisfiable => {
                return Ok(Self::error("416 Range Not Satisfiable")
                    .with("Content-Range", format!("bytes */{length}")));
            }
        };
        Ok(response
            .with("Content-Type", mime(path))
            .with("Accept-Ranges", "bytes")
            .with("Cache-Control", "no-cache"))
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn write(mut self, mut stream: &TcpStream, with_body: bool) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {}\r\nContent-Length: {}\r\n", self.status, self.length);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        if with_body {
            io::copy(&mut self.body, &mut stream)?;
        }
        // Closing with unread bytes would reset the connection, and the answer could be lost.
        stream.shutdown(Shutdown::Write)?;
        io::copy(&mut stream.take(LONGEST_HEAD), &mut io::sink())?;
        Ok(())
    }
}

fn mime(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "gz" => "application/gzip",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A site `dist/` under `/sub/path/`, with a secret beside it and a link to the secret in it.
    fn example(name: &str) -> Result<(PathBuf, Site)> {
        let folder =
            std::env::temp_dir().join(format!("xtask-serve-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("dist/data"))?;
        fs::write(folder.join("secret.txt"), "secret")?;
        fs::write(folder.join("dist/index.html"), "<p>0123456789")?;
        fs::write(folder.join("dist/data/a b.bin"), [0, 1, 2, 3])?;
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.txt", folder.join("dist/link.txt")).ok();
        let site = Site::new(&folder.join("dist"), "sub/path")?;
        Ok((folder, site))
    }

    #[test]
    fn paths_stay_in_the_folder() -> Result<()> {
        let (folder, site) = example("paths")?;
        let file = |path: &str| Found::File(site.folder.join(path));
        assert_eq!(site.find("/sub/path/"), file("index.html"));
        assert_eq!(site.find("/sub/path/index.html"), file("index.html"));
        assert_eq!(site.find("/sub/path/%69ndex.html"), file("index.html"));
        assert_eq!(site.find("/sub/path/data/a%20b.bin"), file("data/a b.bin"));
        assert_eq!(site.find("/sub/path"), Found::FolderWithoutSlash("path"));
        assert_eq!(site.find("/sub/path/data"), Found::FolderWithoutSlash("data"));
        for path in [
            "/",
            "/index.html",
            "/sub/pathindex.html",
            "/sub/path/missing",
            "/sub/path/index.html/",
            "/sub/path/link.txt",
            "/sub/path/../secret.txt",
            "/sub/path/../../secret.txt",
            "/sub/path/%2e%2e/secret.txt",
            "/sub/path/..%2fsecret.txt",
            "/sub/path/data/../../secret.txt",
            "/sub/path/./index.html",
            "/sub/path//index.html",
            "/sub/path//etc/passwd",
            "/sub/path/%2fetc/passwd",
            "/sub/path/..\\secret.txt",
            "/sub/path/C:%5Csecret.txt",
            "/sub/path/index.html%00",
            "/sub/path/%",
            "/sub/path/%zz",
            "/sub/path/%+1",
            "/sub/path/%ff",
        ] {
            assert_eq!(site.find(path), Found::Nothing, "{path}");
        }
        Ok(fs::remove_dir_all(folder)?)
    }

    #[test]
    fn ranges_follow_the_standard() {
        let bytes = |first, end| Part::Bytes(first..end);
        for (range, expected) in [
            ("bytes=0-0", bytes(0, 1)),
            ("bytes=2-5", bytes(2, 6)),
            ("bytes=2-", bytes(2, 10)),
            ("bytes=0-", bytes(0, 10)),
            ("bytes=9-99", bytes(9, 10)),
            ("bytes=0-99999999999999999999999", bytes(0, 10)),
            ("bytes=-3", bytes(7, 10)),
            ("bytes=-99", bytes(0, 10)),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=10-20", Part::Unsatisfiable),
            ("bytes=5-2", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("lines=0-1", Part::Whole),
        ] {
            assert_eq!(part(Some(range), 10), expected, "{range}");
        }
        assert_eq!(part(None, 10), Part::Whole);
        assert_eq!(part(Some("bytes=0-"), 0), Part::Unsatisfiable);
    }

    /// Serves the example, sends `request` as it stands and returns the whole answer.
    fn exchange(name: &str, request: &str) -> Result<String> {
        let (folder, site) = example(name)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        client.write_all(request.as_bytes())?;
        client.shutdown(Shutdown::Write)?;
        site.answer(&listener.accept()?.0)?;
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        fs::remove_dir_all(folder)?;
        Ok(answer)
    }

    #[test]
    fn whole_answers() -> Result<()> {
        let get = exchange("get", "GET /sub/path/?a=b HTTP/1.1\r\nHost: x\r\n\r\n")?;
        assert!(get.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n"), "{get}");
        assert!(get.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"), "{get}");
        assert!(get.ends_with("\r\n\r\n<p>0123456789"), "{get}");

        let head = exchange("head", "HEAD /sub/path/ HTTP/1.1\r\n\r\n")?;
        assert!(head.contains("Content-Length: 13\r\n") && head.ends_with("\r\n\r\n"), "{head}");

        let range = exchange("range", "GET /sub/path/ HTTP/1.1\r\nrange: bytes=3-5\r\n\r\n")?;
        assert!(range.starts_with("HTTP/1.1 206 "), "{range}");
        assert!(range.contains("\r\nContent-Range: bytes 3-5/13\r\n"), "{range}");
        assert!(range.ends_with("\r\n\r\n012"), "{range}");

        let beyond = exchange("beyond", "GET /sub/path/ HTTP/1.1\r\nRange: bytes=13-\r\n\r\n")?;
        assert!(beyond.starts_with("HTTP/1.1 416 "), "{beyond}");
        assert!(beyond.contains("\r\nContent-Range: bytes */13\r\n"), "{beyond}");

        let moved = exchange("moved", "GET /sub/path HTTP/1.1\r\n\r\n")?;
        assert!(moved.starts_with("HTTP/1.1 301 "), "{moved}");
        assert!(moved.contains("\r\nLocation: ./path/\r\n"), "{moved}");

        let post = exchange("post", "POST /sub/path/ HTTP/1.1\r\n\r\n")?;
        assert!(post.starts_with("HTTP/1.1 405 "), "{post}");

        let too_long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(20_000));
        for bad in
            ["", "\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n", "GET x HTTP/1.1\r\n\r\n", &too_long]
        {
            let answer = exchange("bad", bad)?;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        }
        Ok(())
    }

    #[test]
    fn a_taken_port_gives_the_next_one() -> Result<()> {
        let (taken, port) = listen_near(0)?;
        let (_next, other) = listen_near(port)?;
        assert!(other > port, "{other} after {port}");
        for listener in taken {
            assert!(listener.local_addr()?.ip().is_loopback());
        }
        Ok(())
    }
}
