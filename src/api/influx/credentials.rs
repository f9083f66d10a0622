//! Who a request says it is from. Nothing is checked against anything: there
//! are no tokens yet, and everybody may write. What cannot be read is refused
//! all the same, so that a client that is set up wrongly learns it now.

use std::fmt;

use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::dialect::Dialect;
use super::error::InfluxError;
use super::params::Params;

/// What a request proves itself with. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    /// Nothing, or an empty token: what Telegraf sends where none is set.
    None,
    /// `Token …` or `Bearer …`.
    Token(String),
    /// `Basic …`, or the parameters `u` and `p`.
    Password { user: String, password: String },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Token(_) => "Token(***)",
            Self::Password { .. } => "Password(***)",
        })
    }
}

impl Credentials {
    /// Reads the header `Authorization`, and without one the parameters.
    ///
    /// # Errors
    /// 401 for a header that cannot be read. The message repeats nothing of it.
    pub(super) fn read(
        dialect: Dialect,
        headers: &HeaderMap,
        params: &Params,
    ) -> Result<Self, InfluxError> {
        let mut lines = headers.get_all(header::AUTHORIZATION).iter();
        let found = match (lines.next(), lines.next()) {
            (None, _) => Some(Self::of_params(params)),
            (Some(line), None) => line.to_str().ok().and_then(Self::of_header),
            (Some(_), Some(_)) => None,
        };
        found.ok_or_else(|| {
            let message = "the Authorization header cannot be read; send one of `Token TOKEN`, \
                           `Bearer TOKEN` and `Basic` with the base64 of user:password";
            InfluxError::new(dialect, StatusCode::UNAUTHORIZED, message)
        })
    }

    fn of_params(params: &Params) -> Self {
        match (params.get("u"), params.get("p")) {
            (None, None) => Self::None,
            (user, password) => Self::Password {
                user: user.unwrap_or_default().to_owned(),
                password: password.unwrap_or_default().to_owned(),
            },
        }
    }

    fn of_header(line: &str) -> Option<Self> {
        let (scheme, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let value = value.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "token" | "bearer" if value.is_empty() => Some(Self::None),
            "token" | "bearer" if value.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Some(Self::Token(value.to_owned()))
            }
            "basic" => {
                let text = String::from_utf8(BASE64_STANDARD.decode(value).ok()?).ok()?;
                let (user, password) = text.split_once(':')?;
                Some(Self::Password {
                    user: user.to_owned(),
                    password: password.to_owned(),
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str], query: &str) -> Result<Credentials, InfluxError> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::AUTHORIZATION, line.parse().unwrap());
        }
        Credentials::read(Dialect::V1, &headers, &Params::read(query.as_bytes()))
    }

    fn password(user: &str, password: &str) -> Credentials {
        Credentials::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    #[test]
    fn every_form_that_clients_send_is_read() {
        let token = |text: &str| Credentials::Token(text.to_owned());
        for (lines, query, expected) in [
            (&[][..], "", Credentials::None),
            (&["Token"], "", Credentials::None),
            (&["Bearer "], "", Credentials::None),
            (&["Token my-token=="], "", token("my-token==")),
            (&["token user:pass"], "", token("user:pass")),
            (&["BEARER a.b.c"], "", token("a.b.c")),
            (&["Basic dTpwOnE="], "", password("u", "p:q")),
            (&["basic Og=="], "", password("", "")),
            (&[], "u=me&p=s%20cret", password("me", "s cret")),
            (&[], "u=me", password("me", "")),
            (&["Token x"], "u=me&p=secret", token("x")),
        ] {
            let found = read(lines, query).unwrap();
            assert!(found == expected, "{lines:?} {query}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_being_repeated() {
        for lines in [
            &["s3cret"][..],
            &["Digest s3cret"],
            &["Token s3cret s3cret"],
            &["Basic s3cret!"],
            &["Basic czNjcmV0"],
            &["Basic /w=="],
            &["Basic"],
            &["Token s3cret", "Token s3cret"],
            &[""],
        ] {
            let error = format!("{:?}", read(lines, "").unwrap_err());
            assert!(error.contains("401"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!(
            "{:?} {:?}",
            read(&["Token s3cret"], "").unwrap(),
            read(&[], "u=s3cret&p=s3cret").unwrap()
        );
        assert_eq!(shown, "Token(***) Password(***)");
    }
}
