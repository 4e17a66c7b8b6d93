//! What an agent may ask: each tool is a command that only reads, with those of its flags
//! that name no other root, configuration, file or store.

use crate::lang::text::{clean, suggest};
use serde_json::{Map, Value, json};

pub(crate) struct Tool {
    /// Its name: letters and `_`.
    pub name: &'static str,
    /// What it answers, for the model that chooses.
    about: &'static str,
    /// The words of the command.
    pub command: &'static [&'static str],
    pub format: &'static str,
    arguments: &'static [Argument],
}

/// An argument of a tool.
struct Argument {
    name: &'static str,
    about: &'static str,
    kind: Kind,
    is_required: bool,
    /// The flag of the command; a word by itself without one.
    flag: Option<&'static str>,
}

/// What an argument takes.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    /// Paths relative to the root.
    Paths,
    /// A revision of git, never a directory.
    Revision,
    Switch,
    Choice(&'static [&'static str]),
}

const fn flag(name: &'static str, flag: &'static str, kind: Kind, about: &'static str) -> Argument {
    Argument { name, about, kind, is_required: false, flag: Some(flag) }
}

const fn word(name: &'static str, kind: Kind, about: &'static str) -> Argument {
    Argument { name, about, kind, is_required: true, flag: None }
}

const CLUSTER: Argument = flag("cluster", "--cluster", Kind::Texts, "Only these clusters");
const NAMESPACE: Argument =
    flag("namespace", "--namespace", Kind::Text, "Namespace of objects that are named without one");
const AT: Argument =
    flag("at", "--at", Kind::Text, "The time that time-dependent answers are for: 2026-03-27T09:00:00Z");
const SHOW: Argument = flag(
    "show",
    "--show",
    Kind::Choice(&["error", "warning", "info"]),
    "Lowest level of findings that is given; warning if not said",
);
const OBJECT: Argument =
    word("object", Kind::Text, "KIND/[NAMESPACE/]NAME, such as HelmRelease/apps/web or ks/apps");

/// All tools, in the order in which they are listed.
pub(crate) static TOOLS: [Tool; 12] = [
    Tool {
        name: "lint",
        about: "What is wrong in the repository, at file:line:column, with why, what to do and fixes",
        command: &["lint"],
        format: "json",
        arguments: &[
            Argument {
                is_required: false,
                ..word(
                    "paths",
                    Kind::Paths,
                    "Files and directories to report on, relative to the root; all if not said",
                )
            },
            flag("select", "--select", Kind::Texts, "Run only these rules or groups"),
            flag("ignore", "--ignore", Kind::Texts, "Do not run these rules or groups"),
            flag("since", "--since", Kind::Revision, "Only what is new since this git revision"),
            SHOW,
            CLUSTER,
            AT,
        ],
    },
    Tool {
        name: "plan",
        about: "What a change does in each cluster: what is created, deleted, rolled out, stopped, and why",
        command: &["plan"],
        format: "json",
        arguments: &[
            flag(
                "base",
                "--base",
                Kind::Revision,
                "Git revision before the change; the merge base with the main branch if not said",
            ),
            flag(
                "head",
                "--head",
                Kind::Revision,
                "Git revision after the change; the working tree if not said",
            ),
            flag(
                "assume",
                "--assume",
                Kind::Texts,
                "Instead of a base, versions to rehearse: flux=2.9, kubernetes=1.34, clusterApi=1.12",
            ),
            SHOW,
            CLUSTER,
            AT,
        ],
    },
    Tool {
        name: "why",
        about: "Who applies an object, through which files, patches and substitutions; of a value, where it comes from",
        command: &["why"],
        format: "json",
        arguments: &[
            OBJECT,
            Argument {
                is_required: false,
                ..word("pointer", Kind::Text, "JSON Pointer of a value, such as /spec/replicas")
            },
            flag("references", "--references", Kind::Switch, "What it refers to and what refers to it, too"),
            CLUSTER,
            NAMESPACE,
        ],
    },
    Tool {
        name: "locate",
        about: "File, line and column where an effective value of an object is written",
        command: &["locate"],
        format: "json",
        arguments: &[
            OBJECT,
            word("pointer", Kind::Text, "JSON Pointer of the value, such as /spec/replicas"),
            CLUSTER,
            NAMESPACE,
        ],
    },
    Tool {
        name: "explain",
        about: "What a rule of lint does, why it matters, and what to write instead",
        command: &["explain"],
        format: "markdown",
        arguments: &[word("rule", Kind::Text, "The rule's id, such as missing-reference")],
    },
    Tool {
        name: "explain_field",
        about: "What a field of a kind takes, since and until which version",
        command: &["explain"],
        format: "json",
        arguments: &[word("field", Kind::Text, "KIND.field.path, such as ks.spec.postBuild.substituteFrom")],
    },
    Tool {
        name: "explain_values",
        about: "The values of a HelmRelease, who sets each, and which of them the chart reads",
        command: &["explain-values"],
        format: "json",
        arguments: &[word("release", Kind::Text, "[NAMESPACE/]NAME of the HelmRelease"), CLUSTER, NAMESPACE],
    },
    Tool {
        name: "simulate_events",
        about: "What notifications of Flux will say, and whom they reach",
        command: &["simulate", "events"],
        format: "json",
        arguments: &[
            flag(
                "object",
                "--object",
                Kind::Text,
                "Only events about these objects: KIND/[NAMESPACE/]NAME, with globs",
            ),
            flag("alert", "--alert", Kind::Text, "Only this alert: [NAMESPACE/]NAME"),
            flag("severity", "--severity", Kind::Choice(&["info", "error"]), "Severity of the events"),
            flag("message", "--message", Kind::Text, "Message of the events"),
            flag("explain", "--explain", Kind::Switch, "Every alert, and why it does not match"),
            CLUSTER,
            NAMESPACE,
            AT,
        ],
    },
    Tool {
        name: "simulate_gates",
        about: "When gates, schedules and suspensions let deployments through",
        command: &["simulate", "gates"],
        format: "json",
        arguments: &[
            flag("from", "--from", Kind::Text, "Start of a range; needs `to`"),
            flag("to", "--to", Kind::Text, "End of the range; needs `from`"),
            flag(
                "why",
                "--why",
                Kind::Text,
                "What these objects wait for: KIND/[NAMESPACE/]NAME, with globs",
            ),
            CLUSTER,
            NAMESPACE,
            AT,
        ],
    },
    Tool {
        name: "simulate_suspend",
        about: "What is suspended, whether the controllers honour it, and what follows from it",
        command: &["simulate", "suspend"],
        format: "json",
        arguments: &[
            flag("since", "--since", Kind::Revision, "Git revision from when the suspension began"),
            CLUSTER,
            NAMESPACE,
        ],
    },
    Tool {
        name: "simulate_propagation",
        about: "Where labels, annotations and taints of Cluster API objects end up, and where they stop",
        command: &["simulate", "propagation"],
        format: "json",
        arguments: &[Argument { is_required: false, ..OBJECT }, CLUSTER, NAMESPACE],
    },
    Tool {
        name: "simulate_hooks",
        about: "Which lifecycle hooks a Cluster of Cluster API calls, and what they block",
        command: &["simulate", "hooks"],
        format: "json",
        arguments: &[
            word("object", Kind::Text, "Cluster/NAMESPACE/NAME"),
            Argument {
                is_required: true,
                ..flag("on", "--on", Kind::Choice(&["create", "upgrade", "delete"]), "What happens to it")
            },
            flag("from", "--from", Kind::Text, "Version before the upgrade"),
            flag("to", "--to", Kind::Text, "Version after the upgrade"),
            flag(
                "respond",
                "--respond",
                Kind::Texts,
                "What hooks answer: HOOK=blocking, HOOK=failure or HOOK=unreachable",
            ),
            CLUSTER,
            NAMESPACE,
        ],
    },
];

/// The argument of every tool that chooses a page.
const PAGE: &str = "page";

/// The command line that a call means, and the page that it wants.
pub(crate) struct ToolCall {
    /// Flags and words, behind those of the command.
    pub words: Vec<String>,
    /// From 1.
    pub page: usize,
}

impl Tool {
    /// As `tools/list` gives it.
    pub(crate) fn listed(&self) -> Value {
        let mut properties = Map::new();
        for argument in self.arguments {
            properties.insert(argument.name.to_owned(), argument.schema());
        }
        let page =
            json!({"type": "integer", "minimum": 1, "description": "Page of a long answer; 1 if not said"});
        properties.insert(PAGE.to_owned(), page);
        let required: Vec<&str> = self
            .arguments
            .iter()
            .filter(|argument| argument.is_required)
            .map(|argument| argument.name)
            .collect();
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }

    /// What the arguments of a call mean.
    ///
    /// # Errors
    /// A mistake in them, in words.
    pub(crate) fn call(&self, given: &Map<String, Value>) -> Result<ToolCall, String> {
        let names = || self.arguments.iter().map(|argument| argument.name).chain([PAGE]);
        if let Some(unknown) = given.keys().find(|key| !names().any(|name| name == **key)) {
            let near = suggest(unknown, names()).map(|near| format!("; did you mean `{near}`?"));
            let all = names().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "{} takes no argument `{}`{}; it takes {all}",
                self.name,
                clean(unknown),
                near.unwrap_or_default()
            ));
        }
        let page = match given.get(PAGE) {
            None | Some(Value::Null) => Some(1),
            Some(page) => page.as_u64().and_then(|page| usize::try_from(page).ok()).filter(|page| *page > 0),
        };
        let page = page.ok_or("page: a number from 1")?;
        let (mut flags, mut words) = (Vec::new(), Vec::new());
        for argument in self.arguments {
            match given.get(argument.name).filter(|value| !value.is_null()) {
                Some(value) => argument.add(value, &mut flags, &mut words)?,
                None if argument.is_required => {
                    return Err(format!("{} needs `{}`", self.name, argument.name));
                }
                None => {}
            }
        }
        flags.push("--".to_owned());
        flags.append(&mut words);
        Ok(ToolCall { words: flags, page })
    }
}

impl Argument {
    fn schema(&self) -> Value {
        match self.kind {
            Kind::Text | Kind::Revision => json!({"type": "string", "description": self.about}),
            Kind::Texts | Kind::Paths => {
                json!({"type": "array", "items": {"type": "string"}, "description": self.about})
            }
            Kind::Switch => json!({"type": "boolean", "description": self.about}),
            Kind::Choice(words) => json!({"type": "string", "enum": words, "description": self.about}),
        }
    }

    /// Adds what a value means to the flags or to the words.
    fn add(&self, value: &Value, flags: &mut Vec<String>, words: &mut Vec<String>) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{}: {what}", self.name));
        if let Kind::Switch = self.kind {
            match (value.as_bool(), self.flag) {
                (Some(true), Some(flag)) => flags.push(flag.to_owned()),
                (Some(_), _) => {}
                (None, _) => return wrong("true or false"),
            }
            return Ok(());
        }
        let texts: Option<Vec<&str>> = match (self.kind, value) {
            (Kind::Texts | Kind::Paths, Value::Array(items)) => items.iter().map(Value::as_str).collect(),
            (Kind::Texts | Kind::Paths, _) => None,
            (_, value) => value.as_str().map(|text| vec![text]),
        };
        let Some(texts) = texts else {
            return match self.kind {
                Kind::Texts | Kind::Paths => wrong("a list of texts"),
                _ => wrong("a text"),
            };
        };
        for text in texts {
            match self.kind {
                Kind::Choice(choices) if !choices.contains(&text) => {
                    return wrong(&format!("one of {}", choices.join(", ")));
                }
                Kind::Paths if text.starts_with('-') || text.is_empty() => return wrong("no path"),
                Kind::Revision if is_directory(text) => {
                    return wrong("a revision of git, not a directory");
                }
                _ => {}
            }
            match self.flag {
                Some(flag) => flags.push(format!("{flag}={text}")),
                None => words.push(text.to_owned()),
            }
        }
        Ok(())
    }
}

/// Whether a text names a directory or a flag rather than a revision: no name of git's
/// begins so.
fn is_directory(text: &str) -> bool {
    text.starts_with(['.', '/', '\\', '-', '~']) || text.contains(":\\") || text.is_empty()
}
