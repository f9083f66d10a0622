//! Takes secrets out of texts that are shown.

/// What stands for a secret.
const MASK: &str = "***";

/// Parts of the names of connection options whose values are secrets:
/// `authMechanismProperties` (`AWS_SESSION_TOKEN:…`), `proxyPassword`,
/// `tlsCertificateKeyFilePassword` and what may come after them.
const SECRET_OPTIONS: [&str; 4] = ["password", "properties", "token", "secret"];

/// The URI `text` without its password and secret options. Where it is not
/// plain which part is the password (an unescaped `/`, `?` or `#` in it, a
/// missing scheme) more is masked, never less. A text without `@` and without a
/// scheme holds no password and stays.
#[must_use]
pub fn mask(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return if text.contains('@') { MASK } else { text }.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if tail.contains('@') {
        // The password may reach into what looks like path or options.
        return format!("{scheme}://{MASK}");
    }
    let authority = match authority.rsplit_once('@') {
        Some((user_info, hosts)) => match user_info.split_once(':') {
            Some((user, _)) => format!("{user}:{MASK}@{hosts}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let tail = match tail.split_once('?') {
        Some((path, options)) => format!("{path}?{}", mask_options(options)),
        None => tail.to_owned(),
    };
    format!("{scheme}://{authority}{tail}")
}

fn mask_options(options: &str) -> String {
    let masked: Vec<String> = options
        .split('&')
        .map(|option| match option.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
            _ => option.to_owned(),
        })
        .collect();
    masked.join("&")
}

fn is_secret(name: &str) -> bool {
    // Decoded, so that no percent-escape hides a name.
    let decoded: String = form_urlencoded::parse(name.as_bytes())
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    SECRET_OPTIONS.iter().any(|part| decoded.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_goes_and_the_rest_stays() {
        let cases = [
            ("mongodb://u:p@h", "mongodb://u:***@h"),
            (
                "mongodb://u:p%40ss%3Aw@h:1/db?w=1",
                "mongodb://u:***@h:1/db?w=1",
            ),
            (
                "mongodb+srv://u:p:q@h.example/db",
                "mongodb+srv://u:***@h.example/db",
            ),
            (
                "mongodb://u:p@a:1,b:2,[::1]:3/db",
                "mongodb://u:***@a:1,b:2,[::1]:3/db",
            ),
            ("mongodb://u:@h", "mongodb://u:***@h"),
            ("MONGODB://u:p@h", "MONGODB://u:***@h"),
        ];
        for (uri, masked) in cases {
            assert_eq!(mask(uri), masked);
        }
    }

    #[test]
    fn a_text_without_secrets_stays() {
        for text in [
            "embedded",
            "mongodb://h:27017/hourglass?replicaSet=rs0&w=majority",
            "mongodb://user@h/db",
            "mongodb://",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn secret_options_go() {
        let uri = "mongodb://k:s@h/?authMechanism=MONGODB-AWS\
                   &authMechanismProperties=AWS_SESSION_TOKEN:abc%3D,X:y&w=1";
        assert_eq!(
            mask(uri),
            "mongodb://k:***@h/?authMechanism=MONGODB-AWS&authMechanismProperties=***&w=1"
        );
        for option in [
            "tlsCertificateKeyFilePassword",
            "PROXYPASSWORD",
            "proxyPass%77ord",
        ] {
            let masked = mask(&format!("mongodb://h/?{option}=hidden"));
            assert_eq!(masked, format!("mongodb://h/?{option}=***"));
        }
    }

    #[test]
    fn an_unescaped_password_never_shows() {
        for uri in [
            "mongodb://u:se@cret@h/db",
            "mongodb://u:se/cret@h/db",
            "mongodb://u:1?cret@h/db",
            "mongodb://u:1#cret@h/db",
            "mongodb://u:se/c@ret?x=1@h/db",
            "mongodb://u:se://cret@h/db",
            "u:secret@h/db",
            "mongodb:/u:secret@h/db",
        ] {
            let masked = mask(uri);
            assert!(
                !masked.contains("se") && !masked.contains("cret"),
                "{uri} -> {masked}"
            );
        }
    }
}
