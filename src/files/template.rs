//! Telling Helm and Jinja templates from manifests that merely contain `{{`.

use crate::lang::yaml::tape::{Token, TokenKind};
use crate::lang::yaml::{ScalarStyle, Stream};

/// Whether the text is a template by its content: a line outside block scalars
/// and quotes starts with a template action, or the text holds `{{` and is no
/// YAML. Real alert rules, ExternalSecrets and ResourceSets hold `{{` inside
/// scalars and are manifests.
pub(super) fn is_template(stream: &Stream) -> bool {
    let text = &*stream.text;
    if !stream.errors.is_empty() && text.lines().any(|line| is_directive(line.trim_start())) {
        return true;
    }
    let follows = |at: usize| text.as_bytes().get(at + 1).copied();
    let mut actions = memchr::memchr_iter(b'{', text.as_bytes()).map(follows);
    if !actions.any(|next| matches!(next, Some(b'{' | b'%'))) {
        return false;
    }
    let braces = memchr::memmem::find(text.as_bytes(), b"{{").is_some();
    if braces && !stream.errors.is_empty() {
        return !is_broken_without_actions(text);
    }
    if braces && has_braces_for_value(stream) {
        return true;
    }
    // Of an action that begins a line; few texts have many, and some have many lines.
    let begins = |at: usize| {
        let before = text[..at].trim_end_matches([' ', '-']);
        (before.is_empty() || before.ends_with(['\n', '\r']))
            && starts_action(&text[at..])
            && !inside_scalar(stream, at as u32)
    };
    let all = |word: &'static str| memchr::memmem::find_iter(text.as_bytes(), word);
    all("{{").chain(all("{%")).any(begins)
}

/// Whether the text of an object is no YAML even where its actions are taken for words, or
/// for nothing: then it is broken by something else, and a build that takes it in fails.
fn is_broken_without_actions(text: &str) -> bool {
    let has = |field: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("{{");
        !value.contains("{{") && !value.contains("{%")
    };
    has("apiVersion:")
        && has("kind:")
        && ["x", ""].iter().all(|word| !Stream::parse(&without_actions(text, word)).errors.is_empty())
}

/// The text with `word` in place of each action, and without the lines that hold nothing
/// but actions.
fn without_actions(text: &str, word: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find_action(rest) {
        let close = if rest[at..].starts_with("{%") { "%}" } else { "}}" };
        let Some(length) = rest[at..].find(close).map(|end| end + close.len()) else { break };
        made.push_str(&rest[..at]);
        let line = made.rfind('\n').map_or(0, |end| end + 1);
        rest = &rest[at + length..];
        let is_alone = made[line..].trim_start_matches([' ', '-']).is_empty()
            && rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        if !is_alone {
            made.push_str(word);
        } else if !made[line..].contains('-') {
            made.truncate(line);
            rest = &rest[rest.find('\n').map_or(rest.len(), |end| end + 1)..];
        }
    }
    made.push_str(rest);
    made
}

fn find_action(text: &str) -> Option<usize> {
    let follows = |at: &usize| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%'));
    memchr::memchr_iter(b'{', text.as_bytes()).find(follows)
}

/// Whether a value is `{{ … }}` without quotes: YAML reads a map whose key is a map,
/// which no object can hold.
fn has_braces_for_value(stream: &Stream) -> bool {
    let is_map = |token: &Token| token.kind == TokenKind::Mapping;
    let opens = |pair: &[Token]| {
        is_map(&pair[0]) && is_map(&pair[1]) && stream.text[pair[0].start as usize..].starts_with("{{")
    };
    stream.documents.iter().any(|document| document.tokens.windows(2).any(opens))
}

/// Whether a file is a clusterctl template that is no YAML yet: clusterctl
/// replaces `${…}` before it parses, everywhere else that text is a fault.
/// Named as in the provider contract, `cluster-template*.yaml`; or with a line that is nothing
/// but a variable, for which whole fields are put.
pub(super) fn is_clusterctl_template(path: &str, stream: &Stream) -> bool {
    if stream.errors.is_empty() || !stream.text.contains("${") {
        return false;
    }
    path.rsplit('/').next().is_some_and(|name| name.starts_with("cluster-template"))
        || stream.text.contains("cluster.x-k8s.io/") && stream.text.lines().any(is_variable)
}

/// Whether a line is `${NAME}`.
fn is_variable(line: &str) -> bool {
    let name = line.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Whether a line is one of Terraform's `templatefile` or of ERB, which are no
/// YAML.
fn is_directive(line: &str) -> bool {
    let of_terraform = line.strip_prefix("%{").map(|rest| rest.trim_start_matches(['~', ' ']));
    let words = ["if", "for", "else", "endif", "endfor"];
    of_terraform.is_some_and(|rest| words.iter().any(|word| rest.starts_with(word))) || line.starts_with("<%")
}

/// Whether a line begins with an action; what follows the line doesn't matter.
fn starts_action(line: &str) -> bool {
    if line.starts_with("{%") || line.starts_with("{{-") {
        return true;
    }
    let Some(action) = line.strip_prefix("{{") else {
        return false;
    };
    let action = action.trim_start_matches(|c: char| c.is_whitespace() && c != '\n' && c != '\r');
    action.starts_with("/*")
        || ["if", "range", "with", "define", "include", "end", "template"].iter().any(|word| {
            action
                .strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
}

fn inside_scalar(stream: &Stream, offset: u32) -> bool {
    let begun = stream.documents.partition_point(|document| document.start <= offset);
    let Some(document) = begun.checked_sub(1).and_then(|last| stream.documents.get(last)) else {
        return false;
    };
    // Tokens stand in the order of their beginnings, and none lies in a scalar.
    let begun = document.tokens.partition_point(|token| token.start < offset);
    let token = begun.checked_sub(1).and_then(|last| document.tokens.get(last));
    token.is_some_and(|token| {
        let style = match token.kind {
            TokenKind::Scalar(style) => style,
            _ => ScalarStyle::Plain,
        };
        style != ScalarStyle::Plain && offset < token.end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_at_line_starts_make_a_template() {
        for (text, expected) in [
            ("{{- if .Values.x }}\na: 1\n{{- end }}\n", true),
            ("a:\n  {{ include \"x\" . }}\n", true),
            ("{% if x %}\na: 1\n{% endif %}\n", true),
            ("a: {{ .Values.x }}\nb: {{ .Values.y }} c\n", true),
            ("a: {{ .Values.x }}\n", true),
            ("a: {b: {c: d}}\n", false),
            ("annotations:\n  summary: 'x {{ $labels.pod }}'\n", false),
            ("data: |\n  {{ range .x }}\n  {{ end }}\n", false),
            ("url: \"{{ .url }}\"\n", false),
            ("a: 1\n", false),
        ] {
            assert_eq!(is_template(&Stream::parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn what_is_broken_beside_its_actions_is_no_template() {
        let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
        let cases = [
            // An open quote, below, above and around an action.
            ("data:\n  a: \"{{ .A }}\"\n  b: \"open\n  c: d\n", false),
            ("data:\n  b: \"open\n  a: \"{{ .A }}\"\n", false),
            ("data:\n  a: \"{{ .A }}\n  c: d\n", false),
            ("data:\n  a: '{{ .A }}\n  c: d\n", false),
            // Actions that no YAML holds, in the middle and around.
            ("data:\n{{ toYaml .Values.data | indent 2 }}\n", true),
            ("data:\n  a: {{ .A }} # note\n  b: {{ .B | quote }}\n", true),
            ("data:\n  {{ .Key }}: {{ .Value }}\n", true),
            ("data:\n  a: \"a\"{{ .A }}\n", true),
            ("data:\n  a: {{ if .A }}\"a\"{{ else }}\"b\"{{ end }}\n", true),
            ("data:\n{{- range .A }}\n  {{ . }}: 1\n{{- end }}\n", true),
            ("data:\n{% for a in b %}\n  {{ a }}: 1\n{% endfor %}\n", true),
            ("data:\n  - {{ .A }}\n  -\n    {{ .B }}\n", true),
        ];
        for (text, expected) in cases {
            let stream = Stream::parse(&format!("{object}{text}"));
            assert_eq!(is_template(&stream), expected, "{text} {:?}", stream.errors);
        }
        // What names its kind by an action is a template whatever else is wrong.
        assert!(is_template(&Stream::parse("apiVersion: v1\nkind: {{ .Kind }}\na: \"{{ .A }}\n")));
        assert!(is_template(&Stream::parse("a: \"{{ .A }}\nb: c\n")));
    }

    #[test]
    fn unparsable_clusterctl_templates_are_told_by_name() {
        let (broken, sound) = ("a: [ ${ KEYS } ]\n", "a: ${KEY}\n");
        for (path, text, expected) in [
            ("templates/cluster-template-x.yaml", broken, true),
            ("cluster-template.yaml", broken, true),
            ("cluster-template.yaml", sound, false),
            ("cluster.yaml", broken, false),
            ("cluster-template.yaml", "a: [\n", false),
            ("examples/c.yaml", "apiVersion: cluster.x-k8s.io/v1beta2\na: b\n${FIELDS}\n", true),
            ("examples/c.yaml", "apiVersion: cluster.x-k8s.io/v1beta2\na: b\n${FIELDS} x\n", false),
            ("examples/c.yaml", "apiVersion: apps/v1\na: b\n${FIELDS}\n", false),
        ] {
            assert_eq!(is_clusterctl_template(path, &Stream::parse(text)), expected, "{path}: {text}");
        }
    }
}
