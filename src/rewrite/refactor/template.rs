//! Where a Go template of a ClusterClass names a variable.
//! Source: cluster-api `internal/topology/.../inline` (`renderValueTemplate`: the
//! variables are the fields of the dot); text/template.

/// Why a template can't be changed by its text.
pub(super) const WHOLE: &str = "it takes all variables at once, or one by a text";

/// The bytes at which the name of a variable stands. What `range` and `with` put in the
/// place of the dot has fields of its own.
///
/// # Errors
/// It uses the variables in a way that no name shows.
pub(crate) fn places(template: &str, name: &str) -> Result<Vec<usize>, &'static str> {
    let mut found = Vec::new();
    // For each open block whether the dot is another one in it.
    let mut blocks: Vec<bool> = Vec::new();
    let mut from = 0;
    while let Some(at) = template[from..].find("{{") {
        let start = from + at + 2;
        let end = template[start..].find("}}").map_or(template.len(), |end| start + end);
        let action = &template[start..end];
        let words = action.trim_start_matches('-').trim_start();
        let word: &str = words.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if words.starts_with("/*") {
            from = end;
            continue;
        }
        if word == "else"
            && let Some(block) = blocks.last_mut()
        {
            *block = false;
        }
        if word == "end" {
            blocks.pop();
        }
        in_action(action, start, name, blocks.contains(&true), &mut found)?;
        match word {
            "if" => blocks.push(false),
            "range" | "with" => blocks.push(true),
            "define" | "block" | "template" => return Err(WHOLE),
            _ => {}
        }
        from = end;
    }
    Ok(found)
}

fn in_action(
    action: &str,
    start: usize,
    name: &str,
    is_other: bool,
    found: &mut Vec<usize>,
) -> Result<(), &'static str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = ' ';
    let mut quote: Option<(char, usize)> = None;
    for (at, c) in action.char_indices() {
        let rest = &action[at + c.len_utf8()..];
        match quote {
            Some((open, from))
                if c == open && (c == '`' || before != '\\' || action[..at].ends_with(r"\\")) =>
            {
                if action[from..at].trim_end_matches('\\') == name {
                    return Err(WHOLE);
                }
                quote = None;
            }
            Some(_) => {}
            None if matches!(c, '"' | '`') => quote = Some((c, at + 1)),
            None if c == '$' && !rest.starts_with(|c: char| part(c) || c == '.') => return Err(WHOLE),
            None if c == '.' => {
                let is_root = before == '$';
                let starts = is_root || before.is_whitespace() || "(|,=-{".contains(before);
                let field: &str = rest.split(|c: char| !part(c)).next().unwrap_or_default();
                if starts && field.is_empty() && !rest.starts_with('.') && !is_other {
                    return Err(WHOLE);
                }
                if starts && field == name && (is_root || !is_other) {
                    found.push(start + at + 1);
                }
            }
            None => {}
        }
        before = c;
    }
    Ok(())
}

/// The template with another name for the variable.
pub(super) fn renamed(template: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut from = 0;
    for at in places(template, old).unwrap_or_default() {
        out.push_str(&template[from..at]);
        out.push_str(new);
        from = at + old.len();
    }
    out + &template[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_template_are_fields_of_the_first_dot() {
        for (template, expected) in [
            ("{{ .a }}", "{{ .b }}"),
            ("{{.a}}-{{ .aa }}-{{ .x.a }}-a-{{ .a.x }}", "{{.b}}-{{ .aa }}-{{ .x.a }}-a-{{ .b.x }}"),
            ("{{ if eq .a \"x.a\" }}.a{{ end }}", "{{ if eq .b \"x.a\" }}.a{{ end }}"),
            (
                "{{ range .a }}{{ .a }}{{ $.a }}{{ end }}{{ .a }}",
                "{{ range .b }}{{ .a }}{{ $.b }}{{ end }}{{ .b }}",
            ),
            (
                "{{ with .a }}{{ .a }}{{ else }}{{ .a }}{{ end }}",
                "{{ with .b }}{{ .a }}{{ else }}{{ .b }}{{ end }}",
            ),
            ("{{- if and .a (not .a) -}}", "{{- if and .b (not .b) -}}"),
            ("{{ .a | printf `%s .a` }}", "{{ .b | printf `%s .a` }}"),
            (
                "{{ if .x }}{{ range .y }}{{ if .a }}{{ end }}{{ end }}{{ .a }}{{ end }}",
                "{{ if .x }}{{ range .y }}{{ if .a }}{{ end }}{{ end }}{{ .b }}{{ end }}",
            ),
            ("{{/* .a */}}{{ .a }}", "{{/* .a */}}{{ .b }}"),
            ("{{ range $i, $e := .a }}{{ $e.a }}{{ end }}", "{{ range $i, $e := .b }}{{ $e.a }}{{ end }}"),
        ] {
            places(template, "a").unwrap_or_else(|why| panic!("{template}: {why}"));
            assert_eq!(renamed(template, "a", "b"), expected);
        }
        for template in
            ["{{ . }}", "{{ toJson . }}", "{{ index . \"a\" }}", "{{ toYaml $ }}", "{{ template \"x\" . }}"]
        {
            assert!(places(template, "a").is_err(), "{template}");
        }
    }
}
