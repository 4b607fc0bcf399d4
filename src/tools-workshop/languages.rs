//! Languages that are compiled, as data.

use tool::{Error, Result};

/// A language.
#[derive(Debug)]
pub struct Language {
    /// Its names.
    pub names: &'static [&'static str],
    /// The programs that are needed.
    pub programs: &'static [&'static str],
    /// The name of the source file.
    file: &'static str,
    /// The command that compiles `$file` to `/tmp/build/program`, or into `/tmp/build`.
    compile: &'static str,
    /// The command that runs it.
    run: &'static str,
    /// The file or folder that is stored of it.
    product: &'static str,
    env: &'static [(&'static str, &'static str)],
}

const PRODUCT: &str = "/tmp/build/program";

const ALL: &[Language] = &[
    Language {
        names: &["c"],
        programs: &["gcc"],
        file: "main.c",
        compile: "gcc -O1 -Wall -o /tmp/build/program \"$file\" -lm",
        run: PRODUCT,
        product: PRODUCT,
        env: &[],
    },
    Language {
        names: &["cpp", "c++", "cxx", "cc"],
        programs: &["g++"],
        file: "main.cpp",
        compile: "g++ -O1 -Wall -o /tmp/build/program \"$file\"",
        run: PRODUCT,
        product: PRODUCT,
        env: &[],
    },
    Language {
        names: &["rust", "rs"],
        programs: &["rustc"],
        file: "main.rs",
        compile: "rustc --edition 2021 -o /tmp/build/program \"$file\"",
        run: PRODUCT,
        product: PRODUCT,
        env: &[],
    },
    Language {
        names: &["go", "golang"],
        programs: &["go"],
        file: "main.go",
        compile: "go build -o /tmp/build/program \"$file\"",
        run: PRODUCT,
        product: PRODUCT,
        env: &[("GOCACHE", "/tmp/go-cache"), ("GOPATH", "/tmp/go"), ("GOFLAGS", "-mod=mod"), ("GOPROXY", "off")],
    },
    Language {
        names: &["java"],
        programs: &["javac", "java"],
        file: "Main.java",
        compile: "javac -d /tmp/build/classes \"$file\"",
        run: "java -cp /tmp/build/classes \"${file%.java}\"",
        product: "/tmp/build/classes",
        env: &[("JAVA_TOOL_OPTIONS", "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1")],
    },
    Language {
        names: &["typescript", "ts"],
        programs: &["tsc", "node"],
        file: "main.ts",
        compile: "tsc --target es2022 --module commonjs --outDir /tmp/build/js \"$file\"",
        run: "node /tmp/build/js/main.js",
        product: "/tmp/build/js/main.js",
        env: &[],
    },
];

/// The language of a name.
///
/// # Errors
/// `BadArgs` for one that is not compiled here.
pub fn find(name: &str) -> Result<&'static Language> {
    let wanted = name.trim().to_lowercase();
    let found = ALL.iter().find(|language| language.names.contains(&&*wanted));
    found.ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|language| language.names[0]).collect();
        let what = text_kit::truncate(name, 40);
        let instead = match &*wanted {
            "python" | "py" => "; execute_python runs Python as it is",
            "javascript" | "js" => "; execute_javascript runs JavaScript as it is",
            "shell" | "sh" | "bash" => "; execute_shell runs commands as they are",
            _ => "",
        };
        Error::bad_args(format!("`{what}` is not compiled here{instead}: use {}", names.join(", ")))
    })
}

impl Language {
    /// The name of the source file. In Java it is that of the public class.
    pub fn file(&self, code: &str) -> String {
        if self.names[0] != "java" {
            return self.file.to_owned();
        }
        let class = code.split("public class ").nth(1).or_else(|| code.split("class ").nth(1));
        let name: String =
            class.unwrap_or_default().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if name.is_empty() || name.len() > 100 { self.file.to_owned() } else { format!("{name}.java") }
    }

    /// The environment of its compiler.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The script that compiles and runs. Its parameters: the size of the source on the standard input, the name of its file, a
    /// line to print once it is compiled, where to store the product, the working directory, whether to run, and the arguments.
    pub fn script(&self) -> String {
        let (compile, run, product) = (self.compile, self.run, self.product);
        format!(
            "size=$1 file=$2 mark=$3 target=$4 folder=$5 run=$6; shift 6\n\
             mkdir -p /tmp/build/src && cd /tmp/build/src && head -c \"$size\" > \"$file\" || exit 1\n\
             {compile} < /dev/null || exit\n\
             echo \"$mark\"; echo \"$mark\" >&2\n\
             if [ -n \"$target\" ]; then cp -r {product} \"$target\" || exit; fi\n\
             if [ \"$run\" = no ]; then exit 0; fi\n\
             cd \"$folder\" && exec {run} \"$@\"\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_several_names() {
        for (name, file) in
            [("C", "main.c"), (" c++ ", "main.cpp"), ("rs", "main.rs"), ("golang", "main.go"), ("ts", "main.ts")]
        {
            assert_eq!(find(name).unwrap().file(""), file, "{name}");
        }
        assert!(find("python").unwrap_err().message().contains("execute_python"));
        assert!(find("cobol").unwrap_err().message().contains("use c, cpp, rust"));
    }

    #[test]
    fn a_java_file_has_the_name_of_its_class() {
        let java = find("java").unwrap();
        for (code, file) in [
            ("public class Hello { }", "Hello.java"),
            ("class A { } public class B{ }", "B.java"),
            ("class Only { }", "Only.java"),
            ("int x;", "Main.java"),
        ] {
            assert_eq!(java.file(code), file, "{code}");
        }
    }
}
