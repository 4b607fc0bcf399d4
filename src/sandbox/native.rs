//! Native helpers that the guest calls synchronously, independent of the call's host: digests and URLs.

use serde_json::{Value, json};
use sha2::Digest;
use url::{Url, quirks};

/// The answer to an immediate operation of the sandbox itself, or `None` if it is the host's.
pub(crate) fn answer(op: &str, input: &Value) -> Option<Result<Value, String>> {
    match op {
        "hash" => Some(hash(text(input, "text"), text(input, "algorithm"))),
        "url" => Some(url(input)),
        _ => None,
    }
}

fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

fn hash(text: &str, algorithm: &str) -> Result<Value, String> {
    let digest = match algorithm {
        "sha256" => sha2::Sha256::digest(text).to_vec(),
        "sha512" => sha2::Sha512::digest(text).to_vec(),
        "sha384" => sha2::Sha384::digest(text).to_vec(),
        "sha1" => sha1::Sha1::digest(text).to_vec(),
        "md5" => md5::Md5::digest(text).to_vec(),
        other => return Err(format!("utils.hash knows sha256, sha512, sha384, sha1 and md5, not \"{other}\"")),
    };
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// `{href, base?, set?: [part, value]}` to the parts of the URL, as browsers name them.
fn url(input: &Value) -> Result<Value, String> {
    let base = input["base"].as_str().map(Url::parse).transpose().map_err(|error| format!("base: {error}"))?;
    let mut url =
        Url::options().base_url(base.as_ref()).parse(text(input, "href")).map_err(|error| error.to_string())?;
    if let (Some(part), Some(value)) = (input["set"][0].as_str(), input["set"][1].as_str()) {
        set(&mut url, part, value);
    }
    Ok(json!({
        "href": quirks::href(&url), "origin": quirks::origin(&url), "protocol": quirks::protocol(&url),
        "username": quirks::username(&url), "password": quirks::password(&url), "host": quirks::host(&url),
        "hostname": quirks::hostname(&url), "port": quirks::port(&url), "pathname": quirks::pathname(&url),
        "search": quirks::search(&url), "hash": quirks::hash(&url),
    }))
}

/// As in browsers, a value that does not fit changes nothing.
fn set(url: &mut Url, part: &str, value: &str) {
    let _unfit = match part {
        "protocol" => quirks::set_protocol(url, value),
        "username" => quirks::set_username(url, value),
        "password" => quirks::set_password(url, value),
        "host" => quirks::set_host(url, value),
        "hostname" => quirks::set_hostname(url, value),
        "port" => quirks::set_port(url, value),
        "pathname" => return quirks::set_pathname(url, value),
        "search" => return quirks::set_search(url, value),
        "hash" => return quirks::set_hash(url, value),
        _ => return,
    };
}
