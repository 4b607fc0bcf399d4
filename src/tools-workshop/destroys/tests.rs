//! Commands that delete or overwrite, and those that do not.

use super::*;

/// Files `old` and `dir/old`, and the folder `dir`.
struct Some;
impl Existing for Some {
    fn is_there(&self, path: &str) -> bool {
        ["old", "dir", "dir/old", "./old", "/workspace/old", "dir/./old"].contains(&path)
    }
    fn is_folder(&self, path: &str) -> bool {
        ["dir", "dir/"].contains(&path)
    }
}

#[test]
fn what_deletes_or_overwrites_is_found() {
    for command in [
        "rm x",
        "rmdir x",
        "unlink x",
        "shred x",
        "truncate -s 0 x",
        "/bin/rm x",
        "sudo -u me rm x",
        "env A=1 rm x",
        "A=1 rm x",
        "timeout 5 rm x",
        "timeout -k 1 5 rm x",
        "nice -n 5 rm x",
        "nohup rm x &",
        "busybox rm x",
        "ls | xargs rm",
        "ls | xargs -n 1 rm",
        "ls | xargs -I{} rm {}",
        "find . -name '*.o' -delete",
        "find . -type f -exec rm {} \\;",
        "find . -execdir /bin/rm {} +",
        "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
        "sh -c 'rm x'",
        "bash -lc 'cd y && rm x'",
        "sh -c \"$x\"",
        "eval 'rm x'",
        "eval \"$x\"",
        "$x y",
        "echo $(rm x)",
        "(rm x)",
        "if true; then rm x; fi",
        "for f in *; do rm \"$f\"; done",
        "trap 'rm x' EXIT",
        "git clean -fd",
        "git -C dir clean -f",
        "git reset --hard",
        "git checkout -- x",
        "git checkout .",
        "git restore x",
        "git stash drop",
        "git branch -D x",
        "git rm x",
        "git push --force",
        "git push origin +main",
        "dd of=old",
        "mv x old",
        "mv old dir",
        "mv -t dir old",
        "mv x \"$y\"",
        "cp x old",
        "cp *.c dir",
        "cp ./old dir/",
        "ln -sf x old",
        "echo x > old",
        "echo x >| old",
        "echo x &> old",
        "> old",
        "echo x > /workspace/old",
        "echo x > \"$y\"",
        "echo x | tee old",
        "cd dir && echo x > old",
        "cd \"$y\" && echo x > z",
        "cd nowhere; echo x > /workspace/old",
        "rsync -a --delete a/ b/",
        "python3 -c 'import os; os.remove(\"x\")'",
        "perl -e 'unlink \"x\"'",
        "node -e 'fs.unlinkSync(\"x\")'",
        "sqlite3 x 'DELETE FROM y'",
        "echo 'open",
        "cat <<E | sh\n$(rm x)\nE",
        "echo 'rm x' | sh",
        "echo 'rm x' | sh -s a b",
        "echo 'rm x' | (cd y; sh)",
        "echo 'rm x' | bash -c sh",
        "cat x | bash /dev/stdin",
        "sh < new",
        "sh <<E\nrm x\nE",
        "sh <<< 'rm x'",
        "sh <(echo rm x)",
        "sh -c'rm x'",
        "bash -xec 'rm x'",
        "alias q=rm\nq old",
        "env -S 'rm old'",
        "env -iS'rm old'",
        "env --split-string='rm old'",
        "awk 'BEGIN{system(\"rm old\")}'",
        "awk '{print | \"rm old\"}' new",
        "awk '{system($0)}' new",
        "python3 -Bc'import os; os.remove(\"old\")'",
        "python3 <<E\nimport os\nos.remove('old')\nE",
        "echo 'import os; os.remove(\"old\")' | python3 -",
        "sort -o old new",
        "sort --output=old new",
        "mv old /tmp/x",
        "mv -t /dev/shm old",
    ] {
        assert!(command_destroys(command, "", &Some), "{command}");
    }
}

#[test]
fn what_only_reads_or_adds_is_not() {
    for command in [
        "ls -la",
        "echo rm x",
        "echo 'rm x; rm y'",
        "grep -r rm .",
        "cat old",
        "sort < old",
        "echo x > new",
        "echo x >> old",
        "echo x > /dev/null 2>&1",
        "echo x > /tmp/old",
        "make 2>&1 | tee -a old",
        "make | tee new",
        "mv old new",
        "mv -n x old",
        "mv x dir",
        "cp old new",
        "cp old dir/new",
        "ln -s old new",
        "git status",
        "git log --oneline",
        "git commit -m 'rm old'",
        "git checkout main",
        "git checkout -b topic",
        "git restore --staged x",
        "git rm --cached x",
        "git clean -n",
        "git stash",
        "git branch",
        "git push",
        "find . -name '*.rs' -exec wc -l {} +",
        "ls | xargs -n 1 wc -l",
        "sh -c 'ls'",
        "python3 script.py",
        "python3 -c 'print(1)'",
        "perl -ne 'print'",
        "dd of=new",
        "tar xf a.tar",
        "mkdir dir && cd dir && echo x > new",
        "for i in 1 2; do echo $i; done",
        "x=$(cat old); echo \"$x\"",
        "test -e old && echo yes",
        "[ -f old ] || touch new",
        "cat > new <<E\nrm x\nE",
        "cargo test && npm run build",
        "rm --help",
        "sh <<E\nls\nE",
        "sh script.sh < new",
        "ls | python3 script.py",
        "python3 <<E\nprint('old')\nE",
        "awk '{print $1}' old | sort -u",
        "awk -F'|' '{print $2}' old",
        "alias ll='ls -l'",
        "env -i A=1 ls",
        "sort old -o new",
        "cat old | tr a b",
        "bash -o pipefail script.sh",
        "mv old /workspace/new",
    ] {
        assert!(!command_destroys(command, "", &Some), "{command}");
    }
}

#[test]
fn what_is_read_is_judged() {
    for (command, input) in
        [("sh", "rm -r x"), ("bash -x", "ls\nrm x"), ("python3", "os.remove('x')"), ("sh -c sh", "rm x")]
    {
        assert!(command_destroys(command, input, &Some), "{command}");
    }
    for (command, input) in [("sh", "ls"), ("cat", "rm x"), ("python3 a.py", "os.remove('x')"), ("grep -c rm", "rm x")]
    {
        assert!(!command_destroys(command, input, &Some), "{command}");
    }
}

#[test]
fn code_that_names_a_deletion_is_found() {
    for code in ["import os\nos.unlink('x')", "shutil.rmtree(p)", "Path('x').unlink()", "fs.rmSync('x')"] {
        assert!(code_destroys(code), "{code}");
    }
    for code in ["print('remove')", "x.remove(1)", "list.pop()"] {
        assert!(!code_destroys(code), "{code}");
    }
}
