//! Lists all error texts in `golden/errors.txt`, so that they can be read together. A new or changed text fails this test
//! until `RINGFORGE_BLESS=1` rewrites the list.

use std::{env, fs, io};

use crate::sources::{libraries, root, with_extension};

/// Code that precedes the text of an error in a statement.
const MARKS: [&str; 10] =
    ["Error::", "Err(", "unsupported(", "refuse", "why", "what:", "#[error(", "fail(", "same_length(", "batch_of("];

/// Returns the string literals of at least two words in statements that make errors.
fn messages(source: &str) -> Vec<String> {
    let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let (mut found, mut statement, mut rest) = (Vec::new(), String::new(), code.as_str());
    while let Some(start) = rest.find('"') {
        let (before, literal) = (&rest[..start], &rest[start + 1..]);
        match before.rfind([';', '{', '}']) {
            Some(end) => statement = before[end..].into(),
            None => statement += before,
        }
        // a double quote in a character literal
        if before.ends_with('\'') {
            rest = literal;
            continue;
        }
        let mut escaped = false;
        let end = literal.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { break };
        let text = literal[..end].replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        if text.contains(' ') && MARKS.iter().any(|mark| statement.contains(mark)) {
            found.push(text);
        }
        rest = &literal[end + 1..];
    }
    found
}

#[test]
fn error_texts_are_listed() -> io::Result<()> {
    let example = r#"fn a() { let b = "not one"; Err(Error::Length { what: "words of \"a\"", got }) }"#;
    assert_eq!(messages(example), [r#"words of \"a\""#]);
    assert!(with_extension("cu")?.len() > 50 && libraries()?.len() > 200);
    let mut list = String::new();
    for (name, source) in libraries()? {
        let messages = messages(&source);
        if !messages.is_empty() {
            list += &format!("{name}\n{}\n", messages.iter().map(|text| format!("    {text}\n")).collect::<String>());
        }
    }
    let golden = root().join("tests/golden/errors.txt");
    if env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
        fs::write(&golden, &list)?;
    }
    let known = fs::read_to_string(golden)?;
    let new: Vec<&str> = list.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
    assert!(known == list, "errors have changed; read them, then set RINGFORGE_BLESS=1 to list them: {new:#?}");
    Ok(())
}
