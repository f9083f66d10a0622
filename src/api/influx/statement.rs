//! The statements of InfluxQL that v1 clients send when they connect.

/// A statement that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement {
    /// `CREATE DATABASE x`, with anything behind `WITH`.
    CreateDatabase,
    /// `SHOW DATABASES`.
    ShowDatabases,
}

/// Most statements in one request: each is answered, so that a short request
/// could ask for a long answer.
pub(super) const STATEMENTS_MAX: usize = 100;

/// Why a query is refused. Nothing of it is repeated: it may hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StatementError {
    /// No statement at all.
    #[error("the parameter `q` is missing or empty")]
    Missing,
    /// One that is none of the two.
    #[error(
        "error parsing query: statement {0} is none that hourglass takes here, which are CREATE \
         DATABASE and SHOW DATABASES; to read, GET /v1/sensors/{{id}}/hourly, \
         /v1/sensors/{{id}}/readings or /v1/latest (see /openapi.json)"
    )]
    Other(usize),
    /// A quote without its end.
    #[error("error parsing query: a quote has no end")]
    OpenQuote,
    /// More than are answered.
    #[error("error parsing query: more than {STATEMENTS_MAX} statements; send fewer")]
    TooMany,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Quoted,
    Text,
    Semicolon,
    Other,
}

/// The statements of `query`, which `;` separates.
///
/// # Errors
/// See [`StatementError`]; then none of them counts.
pub(super) fn parse(query: &str) -> Result<Vec<Statement>, StatementError> {
    let tokens = tokens(query)?;
    let mut statements = Vec::new();
    for part in tokens.split(|token| *token == Token::Semicolon) {
        if part.is_empty() {
            continue;
        }
        if statements.len() == STATEMENTS_MAX {
            return Err(StatementError::TooMany);
        }
        let statement = statement(part).ok_or(StatementError::Other(statements.len() + 1))?;
        statements.push(statement);
    }
    if statements.is_empty() {
        return Err(StatementError::Missing);
    }
    Ok(statements)
}

fn statement(tokens: &[Token<'_>]) -> Option<Statement> {
    let is = |token: &Token<'_>, word: &str| matches!(token, Token::Word(w) if w.eq_ignore_ascii_case(word));
    match tokens {
        [show, databases] if is(show, "SHOW") && is(databases, "DATABASES") => {
            Some(Statement::ShowDatabases)
        }
        [create, database, Token::Word(_) | Token::Quoted, rest @ ..]
            if is(create, "CREATE") && is(database, "DATABASE") =>
        {
            let ends = rest.first().is_none_or(|token| is(token, "WITH"));
            ends.then_some(Statement::CreateDatabase)
        }
        _ => None,
    }
}

fn tokens(query: &str) -> Result<Vec<Token<'_>>, StatementError> {
    let bytes = query.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b';' => tokens.push(Token::Semicolon),
            b'"' | b'\'' => {
                loop {
                    match bytes.get(at) {
                        None => return Err(StatementError::OpenQuote),
                        Some(b'\\') => at += 2,
                        Some(&end) => {
                            at += 1;
                            if end == byte {
                                break;
                            }
                        }
                    }
                }
                tokens.push(if byte == b'"' {
                    Token::Quoted
                } else {
                    Token::Text
                });
            }
            _ if is_of_word(byte) => {
                while bytes.get(at).copied().is_some_and(is_of_word) {
                    at += 1;
                }
                tokens.push(Token::Word(&query[start..at]));
            }
            _ => tokens.push(Token::Other),
        }
    }
    Ok(tokens)
}

/// Letters beyond ASCII are of words too; so a word ends between characters.
fn is_of_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::Statement::{CreateDatabase, ShowDatabases};
    use super::*;

    #[test]
    fn what_clients_send_when_they_connect_is_taken() {
        for (query, expected) in [
            ("CREATE DATABASE telegraf", &[CreateDatabase][..]),
            (r#"CREATE DATABASE "a;b \" 'c""#, &[CreateDatabase]),
            ("create  database\tmeßwerte\n;", &[CreateDatabase]),
            (
                "CREATE DATABASE x WITH DURATION 3d NAME 'x;y'",
                &[CreateDatabase],
            ),
            ("Show Databases", &[ShowDatabases]),
            (
                ";SHOW DATABASES; CREATE DATABASE x;;",
                &[ShowDatabases, CreateDatabase],
            ),
        ] {
            assert_eq!(parse(query).as_deref(), Ok(expected), "{query}");
        }
        let many = "SHOW DATABASES;".repeat(STATEMENTS_MAX);
        assert_eq!(parse(&many).map(|all| all.len()), Ok(STATEMENTS_MAX));
    }

    #[test]
    fn anything_else_is_refused_and_not_repeated() {
        let many = "SHOW DATABASES;".repeat(STATEMENTS_MAX + 1);
        for (query, error) in [
            ("", StatementError::Missing),
            (" ; ;", StatementError::Missing),
            ("SELECT * FROM cpu", StatementError::Other(1)),
            ("SHOW DATABASES; DROP DATABASE x", StatementError::Other(2)),
            (
                "CREATE USER a WITH PASSWORD 's3cret'",
                StatementError::Other(1),
            ),
            ("CREATE DATABASE", StatementError::Other(1)),
            ("CREATE DATABASE 'x'", StatementError::Other(1)),
            ("CREATE DATABASE x y", StatementError::Other(1)),
            ("SHOW DATABASES x", StatementError::Other(1)),
            ("é", StatementError::Other(1)),
            ("CREATE DATABASE \"s3cret", StatementError::OpenQuote),
            ("CREATE DATABASE \"s3cret\\", StatementError::OpenQuote),
            (&many, StatementError::TooMany),
        ] {
            let found = parse(query).unwrap_err();
            assert_eq!(found, error, "{query}");
            assert!(!found.to_string().contains("s3cret"), "{found}");
        }
    }
}
