//! The family of file tools and what the policy knows of each.

use crate::{
    download::{TIMEOUT, download_file},
    find::{self, by_pattern, glob, search_files},
    list::{self, list_directory, workspace_dir},
    manage::{copy_file, create_folder, delete_file, move_file},
    read::{file_info, read_file},
    target::FileTools,
    write::{edit_file, only_adds, write_file},
};
use std::time::Duration;
use tool::prelude::*;

/// How long copies of large folders and searches may take.
const LONG: Duration = Duration::from_secs(300);

/// Names of the path in other APIs.
const PATH: &[(&str, &str)] = &[("file_path", "path"), ("filename", "path"), ("file", "path"), ("filepath", "path")];
const FOLDER: &[(&str, &str)] =
    &[("directory", "path"), ("dir", "path"), ("folder", "path"), ("cwd", "path"), ("dir_path", "path")];
const READ: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("filepath", "path"),
    ("offset", "startLine"),
    ("from", "startLine"),
    ("start", "startLine"),
    ("line_start", "startLine"),
    ("end", "endLine"),
    ("to", "endLine"),
    ("line_end", "endLine"),
    ("limit", "lines"),
    ("max_lines", "lines"),
    ("num_lines", "lines"),
];
const WRITE: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("filepath", "path"),
    ("text", "content"),
    ("contents", "content"),
    ("file_text", "content"),
    ("data", "content"),
];
const EDIT: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("filepath", "path"),
    ("old_string", "oldText"),
    ("old_str", "oldText"),
    ("old", "oldText"),
    ("find", "oldText"),
    ("search", "oldText"),
    ("new_string", "newText"),
    ("new_str", "newText"),
    ("new", "newText"),
    ("replace", "newText"),
    ("replacement", "newText"),
    ("all", "replaceAll"),
];
const SEARCH: &[(&str, &str)] = &[
    ("text", "query"),
    ("q", "query"),
    ("pattern", "query"),
    ("directory", "path"),
    ("dir", "path"),
    ("folder", "path"),
    ("include", "glob"),
    ("file_pattern", "glob"),
    ("limit", "maxResults"),
    ("max", "maxResults"),
];
const GLOB: &[(&str, &str)] = &[
    ("glob", "pattern"),
    ("query", "pattern"),
    ("directory", "path"),
    ("dir", "path"),
    ("folder", "path"),
    ("limit", "maxResults"),
];
const FROM_TO: &[(&str, &str)] = &[
    ("from", "source"),
    ("src", "source"),
    ("source_path", "source"),
    ("old_path", "source"),
    ("path", "source"),
    ("to", "destination"),
    ("dest", "destination"),
    ("dst", "destination"),
    ("target", "destination"),
    ("destination_path", "destination"),
    ("new_path", "destination"),
];
const DOWNLOAD: &[(&str, &str)] = &[
    ("uri", "url"),
    ("link", "url"),
    ("file_path", "path"),
    ("filename", "path"),
    ("destination", "path"),
    ("output_path", "path"),
];

/// Tools for files and folders.
pub fn family(tools: FileTools) -> Family<FileTools> {
    Family::new("filesystem", "Files and folders of the workspace.", tools)
        .title("Files")
        .category("File System")
        .tool("read_file", Risk::Observe, read_file)
        .own_area(Area::FileRead)
        .also_in(&["fs"])
        .synonyms(READ)
        .ability("read and write files")
        .shows(&["startLine", "endLine"])
        .tags("open show cat view print text content lines file document")
        .example(json!({"path": "notes/plan.md", "startLine": 10, "endLine": 40}))
        .tool("write_file", Risk::Write, write_file)
        .own_area(Area::FileWrite)
        .also_in(&["fs"])
        .synonyms(WRITE)
        .additive_where(only_adds)
        .ability("read and write files")
        .shows(&["append"])
        .tags("create save make new text file document append overwrite")
        .example(json!({"path": "notes/plan.md", "content": "# Plan\n"}))
        .tool("edit_file", Risk::Write, edit_file)
        .own_area(Area::FileWrite)
        .also_in(&["fs"])
        .alias("edit")
        .synonyms(EDIT)
        .shows(&["oldText", "newText", "replaceAll"])
        .tags("change modify replace text patch fix file find and replace")
        .example(json!({"path": "src/main.py", "oldText": "return a - b", "newText": "return a + b"}))
        .tool("list_directory", Risk::Observe, list_directory)
        .own_area(Area::FileRead)
        .also_in(&["fs"])
        .alias("list_files")
        .synonyms(FOLDER)
        .page(list::PAGE)
        .shows(&["path", "recursive"])
        .tags("ls dir folder directory contents files browse tree")
        .example(json!({"path": "notes"}))
        .tool("search_files", Risk::Observe, search_files)
        .own_area(Area::FileRead)
        .also_in(&["fs"])
        .alias_with("search", by_pattern)
        .synonyms(SEARCH)
        .page_by("maxResults", find::PAGE)
        .shows(&["path", "regex", "glob"])
        .tags("grep find text content name ripgrep rg look for in files code")
        .example(json!({"query": "TODO", "glob": "*.py"}))
        .tool("glob", Risk::Observe, glob)
        .own_area(Area::FileRead)
        .also_in(&["fs"])
        .synonyms(GLOB)
        .page_by("maxResults", find::FILES)
        .shows(&["path"])
        .tags("find files by name pattern wildcard extension")
        .example(json!({"pattern": "**/*.md"}))
        .tool("file_info", Risk::Observe, file_info)
        .own_area(Area::FileRead)
        .synonyms(PATH)
        .returns_digests()
        .tags("stat metadata size date type exists encoding file")
        .example(json!({"path": "photos/cat.jpg"}))
        .tool("copy_file", Risk::Write, copy_file)
        .own_area(Area::FileWrite)
        .synonyms(FROM_TO)
        .timeout(LONG)
        .tags("cp duplicate file folder")
        .example(json!({"source": "notes/plan.md", "destination": "household:/plan.md"}))
        .tool("move_file", Risk::Write, move_file)
        .own_area(Area::FileWrite)
        .synonyms(FROM_TO)
        .timeout(LONG)
        .tags("mv rename file folder")
        .example(json!({"source": "draft.md", "destination": "letters/bank.md"}))
        .tool("create_folder", Risk::Write, create_folder)
        .own_area(Area::FileWrite)
        .synonyms(FOLDER)
        .additive()
        .tags("mkdir make directory new folder")
        .example(json!({"path": "recipes/soups"}))
        .tool("delete_file", Risk::Destroy, delete_file)
        .own_area(Area::FileDelete)
        .synonyms(PATH)
        .tags("rm remove trash erase file folder")
        .example(json!({"path": "old/draft.md"}))
        .tool("download_file", Risk::Write, download_file)
        .own_area(Area::FileWrite)
        .synonyms(DOWNLOAD)
        .timeout(TIMEOUT)
        .tags("fetch get save url web internet wget curl file")
        .example(json!({"url": "https://example.org/manual.pdf", "path": "manuals/"}))
        .tool("workspace_dir", Risk::Observe, workspace_dir)
        .own_area(Area::FileRead)
        .also_in(&["goclaw"])
        .tags("pwd working directory folder places path where files are")
        .example(json!({}))
}
