//! Syntax checks of email addresses and host names.

/// Check an email address in the usual form, without quotes and comments. Returns it with its host in lower case.
///
/// # Errors
/// The reason, as the end of a sentence.
pub fn check_email(text: &str) -> Result<String, String> {
    let (name, host) = text.rsplit_once('@').ok_or("it has no @")?;
    if name.contains('@') {
        return Err("it has more than one @".to_owned());
    }
    if name.is_empty() {
        return Err("there is nothing before the @".to_owned());
    }
    if name.len() > 64 || text.len() > 254 {
        return Err("it is longer than mail allows (64 bytes before the @, 254 in all)".to_owned());
    }
    if let Some(strange) = name.chars().find(|c| !c.is_alphanumeric() && !"!#$%&'*+-/=?^_`{|}~.".contains(*c)) {
        return Err(format!("`{strange}` is not allowed before the @"));
    }
    if name.starts_with('.') || name.ends_with('.') || name.contains("..") || host.ends_with('.') {
        return Err("it has a dot at an end, or two in a row".to_owned());
    }
    let host = check_host(host, char::is_alphanumeric)?;
    let (_, top) = host.rsplit_once('.').ok_or("the part after the @ has no dot")?;
    if top.bytes().all(|b| b.is_ascii_digit()) {
        return Err("the part after the @ ends with a number".to_owned());
    }
    Ok(format!("{name}@{host}"))
}

/// Check the labels of a host name; its letters and digits must satisfy `letter`. Returns it in lower case without the
/// final dot.
///
/// # Errors
/// The reason, as the end of a sentence.
pub fn check_host(text: &str, letter: fn(char) -> bool) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > 253 {
        return Err("it is longer than 253 characters".to_owned());
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err("a part between dots is empty".to_owned());
        }
        if label.len() > 63 {
            return Err("a part between dots is longer than 63 characters".to_owned());
        }
        if let Some(strange) = label.chars().find(|c| !letter(*c) && *c != '-') {
            return Err(format!("`{strange}` is not allowed in a host name"));
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err("a part begins or ends with a hyphen".to_owned());
        }
    }
    Ok(name.to_lowercase())
}
