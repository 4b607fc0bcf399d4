//! `credentialed_exec`: one call of a program with its credential.

use crate::{
    args::ArgList,
    credentialed::{
        Credentialed,
        commands::{self, Permitted},
        may_use,
        record::{Binary, Files, Patterns},
    },
    gate,
    given::{self, GIVEN},
    program::Program,
    result::{Form, answer},
    verify,
};
use process_sandbox::{Limits, Mount};
use std::{fs, path::Path, path::PathBuf, time::Duration};
use tool::{Label, Role, prelude::*};

/// Keeps a program in Python from loading packages of the workspace.
const ALONE: [(&str, &str); 2] = [("PYTHONNOUSERSITE", "1"), ("PYTHONUSERBASE", "/tmp")];
/// The most that a program may print, in bytes.
const OUTPUT: u64 = 4 << 20;
/// Names that other APIs give the parameters.
const SYNONYMS: &[(&str, &str)] = &[
    ("command", "binary"),
    ("program", "binary"),
    ("name", "binary"),
    ("arguments", "args"),
    ("argv", "args"),
    ("workingDir", "cwd"),
    ("workingDirectory", "cwd"),
    ("workdir", "cwd"),
    ("timeout", "timeoutSeconds"),
];
/// The longest call.
const LONGEST: Duration = Duration::from_secs(630);

/// Run a command-line program that has a credential of the household, such as gh, aws or kubectl. It is started directly and not
/// by a shell: pass one argument for each word. Only permitted commands run.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CredentialedExec {
    /// The program, such as `gh`.
    binary: String,
    /// Its arguments, one for each word: the command first, such as ["issue", "list", "--repo", "owner/name"].
    args: ArgList,
    /// The folder to run in, for programs that see files; the workspace by default.
    cwd: Option<String>,
    /// How long it may take, in seconds.
    timeout_seconds: Option<u32>,
}

/// The tool.
pub fn family(state: &Credentialed) -> Family<Credentialed> {
    Family::new("credentialed", "Command-line programs that work with a credential of the household.", state.clone())
        .title("Programs with a credential")
        .category("runtime")
        .area(Area::CodeExecute)
        .tool("credentialed_exec", Risk::Execute, credentialed_exec)
        .also_in(&["runtime"])
        .destroys_here(|state, _, args| state.changes(args))
        .additive_where(|state, cx, args| state.only_reads(cx, args))
        .synonyms(SYNONYMS)
        .tags("gh github aws gcloud google cloud kubectl kubernetes terraform cli credential token")
        .timeout(LONGEST)
        .example(json!({"binary": "gh", "args": ["issue", "list", "--repo", "cli/cli", "--limit", "5"]}))
}

impl Credentialed {
    /// Whether a call may change something, by its words; where that is not known, it may.
    fn changes(&self, args: &Value) -> bool {
        self.judged(args).is_none_or(|permitted| permitted.changes)
    }

    /// Whether a call changes nothing. What a run read from outside could go out in a name that belongs to somebody else.
    fn only_reads(&self, cx: &Cx, args: &Value) -> bool {
        self.judged(args)
            .is_some_and(|permitted| !permitted.changes && (cx.label() == Label::Own || !permitted.reaches_others))
    }

    /// What a call would do; `None` where it cannot be read. A call that is refused does nothing, which nobody has to approve.
    fn judged(&self, args: &Value) -> Option<Permitted> {
        let call = CredentialedExec::deserialize(args).ok()?;
        let entry = self.find(name_of(&call.binary)).ok().flatten();
        let check = |entry: Binary| entry.permitted()?.check(&call.args.words()?);
        Some(entry.and_then(|entry| check(entry.value).ok()).unwrap_or_default())
    }

    /// A file without secrets that the program is given, with the settings in it.
    fn file(&self, binary: &Binary) -> Result<Option<(String, PathBuf, Mount)>> {
        let Some(preset) = binary.of().filter(|preset| !preset.file.is_empty()) else { return Ok(None) };
        let mut text = preset.file.trim_start().to_owned();
        for name in &preset.settings {
            text = text.replace(&format!("{{{name}}}"), binary.settings.get(name).map_or("", String::as_str));
        }
        let (file, inside) = (self.folder.join(&binary.name), Path::new(GIVEN).join(&binary.name));
        let failed = |error: std::io::Error| {
            Error::failed(format!("the settings of `{}` cannot be written: {error}", binary.name))
        };
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            fs::create_dir_all(&self.folder).map_err(failed)?;
            let part = file.with_extension("part");
            fs::write(&part, text).map_err(failed)?;
            fs::rename(&part, &file).map_err(failed)?;
        }
        let mount = given::file(&file, inside.clone())?;
        Ok(Some((preset.file_variable.clone(), inside, mount)))
    }
}

/// The name in a path.
fn name_of(binary: &str) -> &str {
    binary.rsplit('/').next().unwrap_or(binary)
}

async fn credentialed_exec(state: Credentialed, cx: Cx, call: CredentialedExec) -> Result<Output> {
    let name = name_of(call.binary.trim());
    let binary = state.find(name)?.ok_or_else(|| unknown(&state, &cx, name))?.value;
    if !may_use(&cx, &binary) {
        let whom = if cx.principal().role < Role::Member { "members and admins" } else { "admins" };
        return Err(Error::denied(format!(
            "only {whom} may use `{name}` with its credential: ask an admin to allow it"
        )));
    }
    if !binary.enabled {
        return Err(Error::unavailable(format!("`{name}` is switched off: an admin can switch it on")));
    }
    let path = state.path(&binary)?;
    if !verify::names(call.binary.trim(), name, &path) {
        return Err(Error::denied(format!(
            "`{}` is not the program that was set up with a credential: name it `{name}`",
            text_kit::truncate(&call.binary, 80)
        )));
    }
    let permitted = binary.permitted()?.check(&call.args.words()?)?;
    Patterns::read(&binary.deny_args, &binary.deny_verbose)?.check(&permitted.shown)?;
    if binary.files == Files::None && call.cwd.is_some() {
        return Err(Error::bad_args(format!("`{name}` sees no files here: leave `cwd` out")));
    }
    let sealed = state.sealed(name)?.filter(|sealed| sealed.fits(&binary)).ok_or_else(|| {
        Error::unavailable(format!("the secrets of `{name}` are not on this device: an admin has to enter them again"))
    })?;

    let mut program = Program::new(path.clone(), permitted.args);
    program.env.extend(ALONE.map(|(name, value)| (name.to_owned(), value.to_owned())));
    program.env.extend(binary.of().into_iter().flat_map(|preset| preset.env.clone()));
    program.env.extend(binary.settings.clone());
    program.env.extend(sealed.secrets);
    let (inside, mount) = given::program(&path, name)?;
    program.program = inside;
    program.mounts.extend(mount);
    if let Some((variable, inside, mount)) = state.file(&binary)? {
        program.mounts.push(mount);
        program.env.push((variable, inside.display().to_string()));
    }
    let asked = call.timeout_seconds.unwrap_or(binary.timeout_seconds).clamp(1, binary.timeout_seconds);
    let wall = Duration::from_secs(asked.into());
    program.limits = Limits { wall, cpu: wall, output: OUTPUT, ..Limits::default() };
    program.sees_files = binary.files != Files::None;
    program.read_only = binary.files != Files::Write;
    program.folder = call.cwd;
    program.network = gate::network(&state.workshop, &cx, "credentialed_exec", binary.all_hosts());
    let ran = state.workshop.run(&cx, program).await?;
    let mut output = answer(&ran, Form::Code);
    if let Some(fields) = output.content.as_object_mut() {
        fields.insert("binary".into(), name.into());
    }
    // What a service answers has words of others.
    Ok(output.from_outside())
}

fn unknown(state: &Credentialed, cx: &Cx, name: &str) -> Error {
    let known: Vec<String> = state
        .all()
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.value.enabled && may_use(cx, &entry.value))
        .map(|entry| entry.value.name)
        .collect();
    let known = if known.is_empty() { "none is".to_owned() } else { format!("there are {}", known.join(", ")) };
    Error::not_found(format!(
        "no program `{}` is set up with a credential: {known}; an admin sets them up with PUT /api/v1/credentialed-binaries/NAME",
        text_kit::truncate(name, 40)
    ))
}

/// Splits what was passed as one text.
impl ArgList {
    fn words(&self) -> Result<Vec<String>> {
        match &self.0[..] {
            // A whole command line in one argument.
            [line] if line.contains(char::is_whitespace) => commands::split(line),
            args => Ok(args.to_vec()),
        }
    }
}
