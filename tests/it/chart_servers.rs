//! `forebay chart pull` against servers on the loopback: an index over http, a registry of
//! OCI artifacts, logins, a server that stops half-way. Helm is the one of `FOREBAY_HELM`,
//! else of PATH; the registry is Debian's `docker-registry`. Where they are not installed
//! the tests say so.

use crate::chart_stores::archive;
use crate::support::scratch::{Run, Scratch};
use crate::support::skip::skip;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// User and password of the servers, as basic authentication writes them.
const LOGIN: (&str, &str, &str) = ("reader", "correct-horse", "cmVhZGVyOmNvcnJlY3QtaG9yc2U=");

/// A Helm that runs here.
fn helm() -> Option<PathBuf> {
    let named = std::env::var_os("FOREBAY_HELM").map_or_else(|| PathBuf::from("helm"), PathBuf::from);
    runs(&named, "version").then_some(named)
}

fn runs(program: &Path, argument: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a server does with a path.
#[derive(Clone)]
enum Answer {
    Whole(Vec<u8>),
    /// Half of it, and the end of the connection.
    Half(Vec<u8>),
}

/// A web server of files; the paths that it was asked for.
struct Web {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    /// With files that need the login where `guarded`; it lives as long as the tests.
    fn new(files: Vec<(&'static str, Answer)>, guarded: bool) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let note = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let path = serve(stream, &files, guarded);
                note.lock().expect("no panic").extend(path);
            }
        });
        Web { url, asked }
    }
}

/// Answers one request, and gives its path.
fn serve(mut stream: TcpStream, files: &[(&'static str, Answer)], guarded: bool) -> Option<String> {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let mut is_known = !guarded;
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        is_known |= line.ends_with(&format!("Basic {}", LOGIN.2));
    }
    let found = files.iter().find(|(name, _)| *name == path).map(|(_, answer)| answer);
    let (status, bytes, sent) = match (is_known, found) {
        (false, _) => ("401 Unauthorized", &b""[..], 0),
        (_, None) => ("404 Not Found", &b""[..], 0),
        (_, Some(Answer::Whole(bytes))) => ("200 OK", &bytes[..], bytes.len()),
        (_, Some(Answer::Half(bytes))) => ("200 OK", &bytes[..], bytes.len() / 2),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes[..sent]));
    Some(path)
}

/// An index of a chart `web` in these versions.
fn index(versions: &[&str]) -> Vec<u8> {
    let mut text = "apiVersion: v1\nentries:\n  web:\n".to_owned();
    for version in versions {
        text.push_str(&format!(
            "  - {{apiVersion: v2, name: web, version: {version}, urls: [web-{version}.tgz]}}\n"
        ));
    }
    text.into_bytes()
}

/// A web server of `web` 1.2.3.
fn charts(guarded: bool) -> Web {
    let files = vec![
        ("/index.yaml", Answer::Whole(index(&["1.2.3"]))),
        ("/web-1.2.3.tgz", Answer::Whole(archive("web", "1.2.3", "replicas: 1\n"))),
    ];
    Web::new(files, guarded)
}

/// A repository with a release of `web` from a HelmRepository.
fn http_fleet(url: &str, version: &str) -> Scratch {
    Scratch::new(&[("apps.yaml", &format!("\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: apps}}
spec: {{interval: 1h, url: '{url}', secretRef: {{name: login}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: apps}}
spec: {{interval: 1h, chart: {{spec: {{chart: web, version: '{version}', sourceRef: {{kind: HelmRepository, name: charts}}}}}}}}
"))])
}

/// A repository with a release of an OCIRepository.
fn oci_fleet(host: &str, reference: &str) -> Scratch {
    Scratch::new(&[(
        "apps.yaml",
        &format!(
            "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: web, namespace: apps}}
spec: {{interval: 1h, insecure: true, url: 'oci://{host}/charts/web', ref: {{{reference}}}, secretRef: {{name: login}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: apps}}
spec: {{interval: 1h, chartRef: {{kind: OCIRepository, name: web}}}}
"
        ),
    )])
}

/// Directories of Helm's own: caches, configuration, logins.
struct Home(Scratch);

impl Home {
    fn new() -> Home {
        Home(Scratch::new(&[]))
    }

    fn variables(&self) -> [(&'static str, String); 4] {
        let path = |name: &str| self.0.path().join(name).to_string_lossy().into_owned();
        [
            ("HOME", path("")),
            ("HELM_CACHE_HOME", path("cache")),
            ("HELM_CONFIG_HOME", path("config")),
            ("HELM_DATA_HOME", path("data")),
        ]
    }

    fn helm(&self, program: &Path, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).envs(self.variables()).output();
        let output = output.expect("helm runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "helm {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout) + &text(&output.stderr)
    }

    fn pull(&self, program: &Path, fleet: &Scratch) -> Run {
        let variables = self.variables();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, &**value)).collect();
        let helm = program.to_str().expect("UTF-8");
        fleet.forebay_with(&["chart", "pull", "--no-user-stores", "--helm", helm], &variables, b"")
    }
}

/// Names of the files in the store of a root.
fn stored(fleet: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(fleet.path().join(".forebay/charts"));
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.into_iter().flatten().flatten().map(name).collect();
    names.sort();
    names
}

/// A registry that runs, with its port; it ends with this.
struct Registry {
    host: String,
    process: Child,
    _data: Scratch,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `reader` and the password of [`LOGIN`], as bcrypt has them.
const PASSWORDS: &str = "reader:$2b$04$sWQ3k4d1P3ZfAr01.I3wXOf4.JS7it2ZNM.KyEnMYbeItaCIzMOvG\n";

impl Registry {
    /// `None` where it is not installed.
    fn start(guarded: bool) -> Option<Registry> {
        let data = Scratch::new(&[("passwords", PASSWORDS)]);
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            free.local_addr().expect("an address").port()
        };
        let place = |name: &str| data.path().join(name).to_string_lossy().into_owned();
        let mut settings = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: '{}'}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n",
            place("data")
        );
        if guarded {
            settings.push_str(&format!("auth: {{htpasswd: {{realm: r, path: '{}'}}}}\n", place("passwords")));
        }
        data.write("settings.yaml", settings.as_bytes());
        let mut command = Command::new("docker-registry");
        command.args(["serve", &place("settings.yaml")]);
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let registry = Registry { host: format!("127.0.0.1:{port}"), process, _data: data };
        for _ in 0..200 {
            if TcpStream::connect(&registry.host).is_ok() {
                return Some(registry);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the registry does not answer");
    }

    /// Puts `web` 1.2.3 into it; the digest that Helm tells.
    fn fill(&self, helm: &Path, home: &Home) -> String {
        let package = home.0.write("web-1.2.3.tgz", &archive("web", "1.2.3", "replicas: 1\n"));
        let package = package.to_str().expect("UTF-8");
        let target = format!("oci://{}/charts", self.host);
        let told = home.helm(helm, &["push", "--plain-http", package, &target]);
        let digest = told.lines().find_map(|line| line.strip_prefix("Digest: "));
        digest.unwrap_or_else(|| panic!("no digest: {told}")).trim().to_owned()
    }
}

#[test]
fn a_chart_of_an_index_is_fetched_verified_and_seen_by_lint() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let web = charts(false);
    let (fleet, home) = (http_fleet(&web.url, "1.2.3"), Home::new());
    let run = home.pull(&helm, &fleet);
    assert_eq!((run.code, &*run.out), (0, "pulled web 1.2.3 into .forebay/charts\n"), "{}", run.err);
    assert_eq!(stored(&fleet), ["index.yaml", "web-1.2.3.tgz"]);
    let asked = web.asked.lock().expect("no panic").clone();
    assert_eq!(asked, ["/index.yaml", "/web-1.2.3.tgz"]);
    assert_eq!(fleet.forebay(&["chart", "verify"]).code, 0);
    // Another content under the same name.
    fleet.write(".forebay/charts/web-1.2.3.tgz", &archive("web", "1.2.3", "replicas: 2\n"));
    let run = fleet.forebay(&["chart", "verify"]);
    assert!(run.code == 1 && run.out.contains("changed web 1.2.3"), "{}", run.out);
    let run = fleet.forebay(&["lint", "--list-unchecked"]);
    assert!(run.out.contains("is not what the store's index.yaml records"), "{}", run.out);
}

#[test]
fn a_version_that_an_index_lacks_is_told_in_helms_words() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let web = charts(false);
    let (fleet, home) = (http_fleet(&web.url, "9.9.9"), Home::new());
    let run = home.pull(&helm, &fleet);
    assert_eq!(run.code, 1, "{}", run.out);
    let begins = format!("failed: web 9.9.9 of {}: ", web.url);
    assert!(run.err.contains(&begins) && run.err.contains("not found"), "{}", run.err);
    assert!(stored(&fleet).is_empty());
}

#[test]
fn a_repository_that_cannot_be_reached_is_told_once() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    // Nothing listens there.
    let url = "http://127.0.0.1:9";
    let fleet = http_fleet(url, "1.2.3");
    let api = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: api, namespace: apps}\nspec: {interval: 1h, chart: {spec: {chart: api, version: 2.0.0, sourceRef: {kind: HelmRepository, name: charts}}}}\n";
    fleet.write("clusters/a/api.yaml", api.as_bytes());
    let run = Home::new().pull(&helm, &fleet);
    let begins = format!("failed: api 2.0.0, web 1.2.3 of {url}: ");
    assert!(run.code == 1 && run.err.contains(&begins), "{}", run.err);
    assert!(run.err.contains("2 of 2 charts failed"), "{}", run.err);
}

#[test]
fn a_server_that_stops_half_way_leaves_nothing() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let whole = archive("web", "1.2.3", &"replicas: 1\n".repeat(2000));
    let files =
        vec![("/index.yaml", Answer::Whole(index(&["1.2.3"]))), ("/web-1.2.3.tgz", Answer::Half(whole))];
    let web = Web::new(files, false);
    let (fleet, home) = (http_fleet(&web.url, "1.2.3"), Home::new());
    let run = home.pull(&helm, &fleet);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.err.contains("EOF"), "{}", run.err);
    assert!(stored(&fleet).is_empty(), "{:?}", stored(&fleet));
}

#[test]
fn a_guarded_index_takes_helms_own_login() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let web = charts(true);
    let (fleet, home) = (http_fleet(&web.url, "1.2.3"), Home::new());
    let run = home.pull(&helm, &fleet);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.err.contains("401"), "{}", run.err);
    assert!(run.err.contains("Secret apps/login; log in with `helm repo add NAME"), "{}", run.err);
    home.helm(&helm, &["repo", "add", "own", &web.url, "--username", LOGIN.0, "--password", LOGIN.1]);
    let run = home.pull(&helm, &fleet);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(stored(&fleet), ["index.yaml", "web-1.2.3.tgz"]);
    assert!(!fleet.read(".forebay/charts/index.yaml").contains(LOGIN.1));
}

#[test]
fn a_chart_of_a_registry_is_fetched_by_tag_and_by_digest() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let Some(registry) = Registry::start(false) else { skip!("there is no docker-registry") };
    let home = Home::new();
    let digest = registry.fill(&helm, &home);
    for reference in ["tag: 1.2.3".to_owned(), format!("digest: '{digest}'"), "semver: '>=1.0.0'".to_owned()]
    {
        let fleet = oci_fleet(&registry.host, &reference);
        let run = home.pull(&helm, &fleet);
        assert_eq!(
            (run.code, &*run.out),
            (0, "pulled web 1.2.3 into .forebay/charts\n"),
            "{reference}: {}",
            run.err
        );
        let index = fleet.read(".forebay/charts/index.yaml");
        assert!(index.contains(&format!("manifestDigest: \"{digest}\"")), "{reference}: {index}");
        let listed = fleet.forebay(&["chart", "list", "--format", "json"]).json();
        assert_eq!(listed["charts"][0]["found"]["path"], "web-1.2.3.tgz", "{reference}: {listed:#}");
    }
    let fleet = oci_fleet(&registry.host, "tag: 9.9.9");
    let run = home.pull(&helm, &fleet);
    assert!(run.code == 1 && run.err.contains("not found"), "{}", run.err);
    assert!(stored(&fleet).is_empty());
}

#[test]
fn a_guarded_registry_takes_helms_own_login() {
    let Some(helm) = helm() else { skip!("there is no helm") };
    let Some(registry) = Registry::start(true) else { skip!("there is no docker-registry") };
    let (fleet, home) = (oci_fleet(&registry.host, "tag: 1.2.3"), Home::new());
    let login = ["registry", "login", "--plain-http", &registry.host, "-u", LOGIN.0, "-p", LOGIN.1];
    home.helm(&helm, &login);
    registry.fill(&helm, &home);
    let stranger = Home::new();
    let run = stranger.pull(&helm, &fleet);
    assert_eq!(run.code, 1, "{}", run.out);
    let help = format!("Secret apps/login; log in with `helm registry login {}`", registry.host);
    assert!(run.err.contains(&help), "{}", run.err);
    let run = home.pull(&helm, &fleet);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(stored(&fleet), ["index.yaml", "web-1.2.3.tgz"]);
}

/// A helm that writes half an archive, and then waits for its end.
const SLOW: &str = r#"#!/bin/sh
case "$1" in
version) echo v3.17.3; exit ;;
repo) echo '[]'; exit ;;
esac
while [ "$1" != --destination ]; do shift; done
echo half >"$2/web-1.2.3.tgz"
echo "$2" >"$(dirname "$0")/begun"
sleep 60
"#;

#[test]
fn a_signal_leaves_no_half_file() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let (fleet, tools) = (http_fleet("https://charts.example.com", "1.2.3"), Scratch::new(&[]));
    let helm = tools.write("helm", SLOW.as_bytes());
    std::fs::set_permissions(&helm, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let mut command = crate::support::scratch::forebay();
    // A group of its own, as a terminal has one of what runs in front.
    command.current_dir(fleet.path()).process_group(0).stdin(Stdio::null()).stderr(Stdio::piped());
    let command = command.args(["chart", "pull", "--helm"]).arg(&helm);
    let mut child = command.spawn().expect("forebay runs");
    let begun = tools.path().join("begun");
    while !std::fs::read_to_string(&begun).is_ok_and(|text| text.ends_with('\n')) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs").success());
    let status = child.wait().expect("it ends");
    let mut told = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut told).expect("UTF-8");
    assert_eq!(status.code(), Some(3), "{told}");
    assert!(told.contains("ended by a signal; 0 charts stay in .forebay/charts"), "{told}");
    assert!(stored(&fleet).is_empty(), "{:?}", stored(&fleet));
    let place = std::fs::read_to_string(&begun).expect("there");
    assert!(!Path::new(place.trim()).exists(), "{place} is left");
}
