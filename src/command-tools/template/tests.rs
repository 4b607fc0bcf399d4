//! Tests of templates, also with a real shell.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::process::Command;

fn parameters() -> Value {
    json!({"type": "object", "properties": {"x": {}, "y": {}, "list": {}, "n": {}}})
}

fn parse(command: &str) -> Result<Template> {
    Template::parse(command, &parameters())
}

fn render(command: &str, args: Value) -> Result<Rendered> {
    parse(command).unwrap().render(args.as_object().unwrap())
}

/// What real shells print, which is the same.
fn run(command: &str, args: Value) -> String {
    let rendered = render(command, args).unwrap();
    let run = |shell: &str| {
        let mut shell = Command::new(shell);
        shell
            .arg("-c")
            .arg(&rendered.script)
            .env_clear()
            .envs(rendered.variables.iter().map(|(name, value)| (name, value)));
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    };
    let printed = run("/bin/sh");
    assert_eq!(printed, run("/bin/bash"), "{command}");
    printed
}

#[test]
fn values_are_words_in_all_quotes() {
    for value in
        ["a b", "$(id)", "`id`", "'; id; '", "\"; id; \"", "a\nb", "*", "~", "$HOME", "\\", "!!", "", "${x}", "&& id"]
    {
        let command = "printf '[%s]' {{x}} a{{.x}}b \"{{ x }}\" '{{x}}' pre\"$(printf '%s.' {{x}})\"";
        let expected = format!("[{value}][a{value}b][{value}][{value}][pre{value}.]");
        assert_eq!(run(command, json!({"x": value})), expected, "{value:?}");
    }
}

#[test]
fn each_type_of_value_is_text() {
    let command = "printf '[%s]' -- {{x}}";
    for (value, expected) in [
        (json!("a"), "[--][a]"),
        (json!(7), "[--][7]"),
        (json!(-1.5), "[--][-1.5]"),
        (json!(true), "[--][true]"),
        (json!(null), "[--]"),
        (json!(["a b", "$(id)", 3, null, ["x"]]), "[--][a b][$(id)][3][[\"x\"]]"),
        (json!([]), "[--]"),
        (json!({"k": "$(id)"}), "[--][{\"k\":\"$(id)\"}]"),
    ] {
        assert_eq!(run(command, json!({"x": value})), expected, "{value}");
    }
    assert_eq!(run("printf '[%s]' -- \"{{list}}\" a{{list}}", json!({"list": ["a", "b;id"]})), "[--][a b;id][aa b;id]");
    assert_eq!(run("printf '[%s]' -- a {{x}} b{{y}}", json!({})), "[--][a][b]");
}

#[test]
fn a_value_is_no_option() {
    for (command, value, expected) in [
        ("ls {{x}}", "-la", false),
        ("ls \"{{x}}\"", "--color", false),
        ("ls '{{x}}'", "+x", false),
        ("ls {{y}}{{x}}", "-la", false),
        ("ls -- {{x}}", "-la", true),
        ("ls --file={{x}}", "-la", true),
        ("ls a{{x}}", "-la", true),
        ("ls -- a; ls {{x}}", "-la", false),
        ("ls {{x}}", "a-b", true),
    ] {
        assert_eq!(render(command, json!({"x": value})).is_ok(), expected, "{command}");
    }
    assert!(render("seq {{n}}", json!({"n": -3})).is_ok());
    assert!(render("ls {{list}}", json!({"list": ["a", "-x"]})).is_err());
    assert!(render("ls {{x}}", json!({"x": "a\0b"})).is_err());
    assert!(render("ls {{x}}", json!({"x": "a".repeat(VALUE + 1)})).is_err());
}

#[test]
fn no_value_is_where_code_is() {
    for command in [
        "{{x}}",
        "{{x}} a",
        "a; {{x}}",
        "a | {{x}}",
        "a && \"{{x}}\"",
        "a $({{x}})",
        "a \"$({{x}})\"",
        "if {{x}}; then a; fi",
        "A=1 {{x}}",
        "./{{x}}",
        "env {{x}}",
        "env A=1 {{x}}",
        "timeout 5 {{x}}",
        "nice -n 5 {{x}}",
        "xargs {{x}}",
        "exec {{x}}",
        "sh -c {{x}}",
        "sh -c 'a {{x}}'",
        "bash -ec \"a {{x}}\"",
        "/bin/sh -c {{x}}",
        "env sh -c {{x}}",
        "sh -c 'a' -- {{x}}",
        "python3 -c {{x}}",
        "python3.12 -c 'print({{x}})'",
        "node -e {{x}}",
        "node --eval={{x}}",
        "perl -ne {{x}} f",
        "perl -e{{x}}",
        "php -r {{x}}",
        "eval {{x}}",
        "eval \"a {{x}}\"",
        ". {{x}}",
        "source {{x}}",
        "trap {{x}} EXIT",
        "export {{x}}",
        "export A={{x}}",
        "read {{x}}",
        "let {{x}}",
        "declare {{x}}",
        "unset {{x}}",
        "[[ {{x}} -eq 1 ]]",
        "awk {{x}} f",
        "awk '{print {{x}}}' f",
        "sed {{x}} f",
        "sed 's/a/{{x}}/' f",
        "sed -e 's/a/{{x}}/' f",
        "sed x={{x}} f",
        "ssh host {{x}}",
        "watch {{x}}",
        "su -c {{x}}",
        "flock f {{x}}",
        "parallel {{x}}",
        "sqlite3 db {{x}}",
        "xargs -I {} sh -c '{{x}}'",
        "find . -exec sh -c '{{x}}' \\;",
        "find . -exec awk {{x}} \\;",
        "echo a\n{{x}}",
        "(a; {{x}})",
        "f() { {{x}}; }",
        "! {{x}}",
        "while {{x}}; do a; done",
        "time {{x}}",
        "command {{x}}",
        "echo {{x}} | sh",
        "echo {{x}} | tee f | bash -s",
        "echo {{x}} | (a; sh)",
        "echo {{x}} | { sh; }",
        "echo {{x}} | python3 -",
        "echo {{x}} | sh /dev/stdin",
        "echo {{x}} | sed -f - f",
        "echo {{x}} | sqlite3 db",
        "echo {{x}} | xargs -I{} sh -c '{}'",
        "echo {{x}} | xargs env",
        "sed -e p -e {{x}}",
        "sed -ne p -e{{x}} f",
        "git -c {{x}} status",
        "git -c core.pager={{x}} log",
        "vim -es -c {{x}} -c q",
        "vim {{x}}",
        "make {{x}}",
        "tar cf a.tar --checkpoint=1 --checkpoint-action={{x}} .",
        "tar -I {{x}} -xf a.tar",
        "rsync -e {{x}} a b",
        "rg --pre={{x}} a",
        "find . -exec {{x}} {} +",
        "find . -exec ls {} + -exec {{x}} {} +",
        "sh 2>&1 -c {{x}}",
        "> out {{x}}",
        "2> out {{x}}",
        "2>&1 {{x}}",
        "a &> out {{x}}",
        "X={{x}}; $X",
        "set -- {{x}}; \"$@\"",
        "for y in {{list}}; do $y; done",
        "f(){ $1; }; f {{x}}",
        "X={{x}}; env $X",
        "PATH={{x}} ls",
        "LD_PRELOAD={{x}} ls",
        "BASH_ENV={{x}} bash script.sh",
        "env PYTHONSTARTUP={{x}} ls",
        "PAGER={{x}}; git log",
        "jq {{x}} f",
        "jq -r {{x}} f",
    ] {
        let read = parse(command);
        assert!(read.is_err(), "{command}: {read:?}");
    }
}

#[test]
fn values_are_allowed_where_they_are_data() {
    for command in [
        "dig +short {{x}} {{y}}",
        "python3 tool.py {{x}}",
        "python3 -m tool {{x}}",
        "sh script.sh {{x}}",
        "grep -e {{x}} -- {{list}}",
        "grep \"{{x}}\" file | sort -u",
        "A={{x}} ./tool",
        "env A={{x}} ./tool",
        "timeout 5 ./tool {{x}}",
        "xargs grep {{x}}",
        "if test -f {{x}}; then cat -- {{x}}; fi",
        "for f in {{list}}; do echo \"$f\"; done",
        "echo {{x}} > out.txt",
        "awk '{print $1}' {{x}}",
        "awk -v a={{x}} '{print a}' f",
        "sed -n 1p {{x}}",
        "sed -e 1d {{x}}",
        "find {{x}} -name \"*{{y}}*\"",
        "echo $(cat {{x}}) \"$(date +%s)\" ${HOME}",
        "echo '#' # no place here",
        "echo \\{\\{x",
        "(cd {{x}} && ls)",
        "find . -name {{x}}",
        "find . -maxdepth 1 -name {{x}} -exec wc -l {} +",
        "echo {{x}} | python3 script.py",
        "echo {{x}} | perl -pe 's/a/b/'",
        "echo {{x}} | python3 -m json.tool",
        "echo {{x}} || sh",
        "echo {{x}} > {{y}} 2>&1",
        "git commit -m {{x}}",
        "git checkout -b {{x}}",
        "sort < {{x}} | uniq -c",
        "sed -i s/a/b/ {{x}}",
        "awk -f prog.awk {{x}}",
        "jq .name {{x}}",
        "$HOME/bin/tool {{x}}",
        "echo $HOME {{x}}",
        "curl --data-urlencode q={{x}} https://example.org",
    ] {
        let read = parse(command);
        assert!(read.is_ok(), "{command}: {read:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for command in [
        "",
        "  ",
        "a {{x",
        "a {{}}",
        "a {{x y}}",
        "a {{z}}",
        "a 'b",
        "a \"b",
        "a $(b",
        "a `b {{x}}`",
        "cat <<E\n{{x}}\nE",
        "echo $((1 + {{x}}))",
        "echo $[{{x}}]",
        "((x = {{x}}))",
        "echo ${a:-{{x}}}",
        "echo ${a",
        "echo ${a:-$(id)}",
        "echo $'{{x}}'",
        "ls # {{x}}",
        "a\0b",
    ] {
        assert!(parse(command).is_err(), "{command:?}");
    }
    assert!(parse(&"a".repeat(LONGEST + 1)).is_err());
    assert!(parse(&format!("a {}", "{{x}} ".repeat(PLACES + 1))).is_err());
    assert!(render(&format!("a {}", "{{list}} ".repeat(PLACES)), json!({"list": vec!["a"; 100]})).is_err());
}

#[test]
fn the_command_is_shown_with_its_values_in_quotes() {
    let rendered =
        render("grep {{x}} \"{{y}}\" {{list}}", json!({"x": "it's", "y": "b", "list": ["c", "d e"]})).unwrap();
    assert_eq!(rendered.shown, "grep 'it'\\''s' \"b\" 'c' 'd e'");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_value_ever_runs(value in "[ -~\n]{0,40}") {
        let got = run("printf '[%s]' -- {{x}} \"{{x}}\" '{{x}}' a{{x}}", json!({"x": value}));
        prop_assert_eq!(got, format!("[--][{value}][{value}][{value}][a{value}]"));
    }

    #[test]
    fn any_text_is_read_or_refused(command in "[a{}x$()'\"`\\\\;|&<># \n=-]{0,40}") {
        if let Ok(template) = parse(&command) {
            let args = json!({"x": "v"});
            let _ = template.render(args.as_object().unwrap());
        }
    }
}
