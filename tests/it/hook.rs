//! What the pre-commit hooks run (`hooks/run`), with a cargo that tells what it was
//! asked and writes a binary, and other forebays on the PATH. `.ci/hooks` tries the
//! hooks with pre-commit itself, and `.ci/long` builds as a user does.

use crate::support::scratch::Scratch;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// What the script asks of a system, besides forebay and cargo.
const TOOLS: [&str; 9] = ["chmod", "cp", "env", "head", "mkdir", "mv", "rm", "sed", "sleep"];

/// Takes a moment, and writes a binary that says that it was built.
const CARGO: &str = r#"#!/bin/sh
echo "$PWD: $*" >>"$HOME/asked"
while [ $# -gt 0 ]; do
  [ "$1" != --target-dir ] || build="$2"
  shift
done
mkdir -p "$build$HOST/hook"
sleep 0.2
[ ! -e "$HOME/broken" ] || exit 101
printf '#!/bin/sh\necho built "$@"\nexit 1\n' >"$build$HOST/hook/.new$$"
chmod +x "$build$HOST/hook/.new$$"
exec mv "$build$HOST/hook/.new$$" "$build$HOST/hook/forebay"
"#;

/// A clone with the script, a directory that is the whole PATH, and a repository.
struct Place(Scratch);

impl Place {
    fn new(shell: &str) -> Option<Place> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scratch = Scratch::new(&[("repository/a.yaml", "a: 1\n"), ("bin/none", "")]);
        for file in ["hooks/run", "action/outside.sh", "Cargo.toml"] {
            scratch.write(&format!("a clone/{file}"), &std::fs::read(top.join(file)).unwrap());
        }
        let find = |name: &str| {
            std::env::split_paths(&std::env::var_os("PATH")?)
                .map(|dir| dir.join(name))
                .find(|it| it.is_file())
        };
        for tool in TOOLS {
            symlink(find(tool)?, scratch.path().join("bin").join(tool)).unwrap();
        }
        symlink(find(shell)?, scratch.path().join("bin/sh")).unwrap();
        Some(Place(scratch))
    }

    fn program(&self, path: &str, text: &str) {
        let path = self.0.write(path, text.as_bytes());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A forebay of a version, which says that it was installed.
    fn installed(&self, version: &str) {
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo forebay {version}; else echo installed \"$@\"; fi\n"
        );
        self.program("bin/forebay", &text);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.0.path().join("bin/sh"));
        command
            .env_clear()
            .env("PATH", self.0.path().join("bin"))
            .env("HOME", self.0.path())
            .current_dir(self.0.path().join("repository"))
            .arg(self.0.path().join("a clone/hooks/run"))
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        told(&self.command(arguments).output().unwrap())
    }
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// In each shell that is `sh` somewhere; one is here.
fn in_shells(test: impl Fn(&Place)) {
    let places: Vec<Place> =
        ["sh", "dash", "bash", "busybox", "ksh", "zsh"].into_iter().filter_map(Place::new).collect();
    assert!(!places.is_empty());
    places.iter().for_each(test);
}

#[test]
fn an_installed_forebay_of_the_same_version_is_taken() {
    in_shells(|place| {
        place.installed(VERSION);
        let arguments = ["lint", "--since", "HEAD", "a b"];
        assert_eq!(place.run(&arguments), (0, "installed lint --since HEAD a b\n".to_owned(), String::new()));
    });
}

#[test]
fn without_cargo_it_says_what_to_install() {
    in_shells(|place| {
        place.installed("0.0.9");
        let (code, out, err) = place.run(&["lint"]);
        assert_eq!((code, out.as_str()), (3, ""), "{err}");
        assert!(err.contains("https://rustup.rs") && err.contains(&format!("forebay=={VERSION}")), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    });
}

#[test]
fn it_is_built_once_in_the_clone() {
    in_shells(|place| {
        place.program(".cargo/bin/cargo", CARGO);
        let (code, out, err) = place.run(&["lint", "--fix"]);
        // What forebay ends with is what the hook ends with.
        assert_eq!((code, out.as_str()), (1, "built lint --fix\n"), "{err}");
        assert!(err.starts_with(&format!("forebay: building forebay {VERSION} in ")), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        let asked = place.0.read("asked");
        for part in ["/: build ", " --locked ", " --profile hook ", "a clone/Cargo.toml"] {
            assert!(asked.contains(part), "{part}: {asked}");
        }
        assert_eq!(place.run(&["lint"]), (1, "built lint\n".to_owned(), String::new()));
        assert_eq!(place.0.read("asked"), asked, "it is not built again");
        // Neither a build of cargo nor half a binary.
        let left: Vec<_> =
            std::fs::read_dir(place.0.path().join("a clone/target")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "what the compiler wrote is away: {left:?}");
    });
}

#[test]
fn a_target_by_name_has_its_own_directory() {
    in_shells(|place| {
        place.program("bin/cargo", CARGO);
        let output = place.command(&["lint"]).env("HOST", "/x86_64-unknown-linux-gnu").output().unwrap();
        assert_eq!(told(&output).1, "built lint\n", "{}", told(&output).2);
    });
}

#[test]
fn a_build_that_fails_says_so() {
    in_shells(|place| {
        place.program("bin/cargo", CARGO);
        place.0.write("broken", b"");
        let (code, out, err) = place.run(&["lint"]);
        assert_eq!((code, out.as_str()), (3, ""), "{err}");
        assert!(err.contains("could not be built"), "{err}");
    });
}

#[test]
fn hooks_that_build_at_the_same_time_do_not_disturb_each_other() {
    in_shells(|place| {
        place.program("bin/cargo", CARGO);
        let runs = ["lint", "plan", "lint"].map(|what| {
            let mut command = place.command(&[what]);
            std::thread::spawn(move || told(&command.output().unwrap()))
        });
        for run in runs {
            let (code, out, err) = run.join().unwrap();
            assert!(code == 1 && out.starts_with("built "), "{code} {out}{err}");
        }
    });
}

/// The repository that is committed to has tools, a toolchain and a configuration of
/// cargo of its own, a PATH that leads there, and pre-commit's clones below it.
#[test]
fn nothing_of_the_repository_decides_what_runs() {
    in_shells(|place| {
        let top = place.0.path().display().to_string();
        let trap = |name: &str| format!("#!/bin/sh\necho {name} ran >>'{top}/pwned'\n");
        for name in TOOLS.into_iter().chain(["cargo", "rustup", "forebay", "sh", "git"]) {
            for directory in ["repository", "repository/bin", "repository/home/.cargo/bin"] {
                place.program(&format!("{directory}/{name}"), &trap(&format!("{directory}/{name}")));
            }
        }
        for file in ["repository/rust-toolchain.toml", "repository/.cargo/config.toml"] {
            place.0.write(file, b"");
        }
        for file in ["hooks/run", "action/outside.sh", "Cargo.toml"] {
            let text = place.0.read(&format!("a clone/{file}"));
            place.program(&format!("repository/.cache/clone/{file}"), &text);
        }
        symlink("repository/bin", place.0.path().join("link")).unwrap();
        let around = "at=\"$PWD\"\nwhile :; do\n  for file in \"$at/rust-toolchain.toml\" \"$at/.cargo\"; do\n    \
                      [ ! -e \"$file\" ] || echo \"took $file\" >>PWNED\n  done\n  [ -n \"${at%/}\" ] || break\n  at=\"${at%/*}\"\ndone\n\
                      [ -z \"${RUSTC_WRAPPER-}${TOKEN-}\" ] || echo environment >>PWNED\n\
                      [ \"${RUSTUP_TOOLCHAIN-}\" != ./evil ] || echo toolchain >>PWNED\n";
        let around = around.replace("PWNED", &format!("'{top}/pwned'"));
        place.program("bin/cargo", &CARGO.replace("$HOME", &top).replacen('\n', &format!("\n{around}"), 1));
        for clone in ["a clone", "repository/.cache/clone"] {
            let mut command = Command::new(place.0.path().join("bin/sh"));
            command
                .env_clear()
                .env("PATH", format!(".:bin::{top}/repository/bin:{top}/link:{top}/bin"))
                .env("HOME", place.0.path().join("repository/home"))
                .env("RUSTC_WRAPPER", "./evil")
                .env("RUSTUP_TOOLCHAIN", "./evil")
                .env("TOKEN", "of the job")
                .current_dir(place.0.path().join("repository"))
                .arg(place.0.path().join(clone).join("hooks/run"))
                .arg("lint");
            let (code, out, err) = told(&command.output().unwrap());
            let pwned = std::fs::read_to_string(place.0.path().join("pwned")).unwrap_or_default();
            assert_eq!(pwned, "", "{clone}: {err}");
            assert_eq!((code, out.as_str()), (1, "built lint\n"), "{clone}: {err}");
        }
    });
}
