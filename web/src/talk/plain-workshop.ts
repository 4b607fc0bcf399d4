// Calls of the workshop as questions: "Run “make test” in “website”?"
import { workshop } from '../text/workshop';

type Args = Record<string, unknown>;

const words = workshop.ask;
/** A longer command is shown below the question only. */
const LONG = 120;

/** The value of the first of these names that has one: models write some of them in other ways. */
function first(args: Args, ...names: string[]): string {
  for (const name of names) {
    const value = args[name];
    if (typeof value === 'string' && value.trim()) return value.trim();
  }
  return '';
}

const pathOf = (args: Args): string => first(args, 'path', 'file_path', 'filename', 'file') || words.something;
const folderOf = (args: Args): string => first(args, 'cwd', 'folder', 'workingDirectory', 'working_directory', 'working_dir');
const argsOf = (args: Args): string => (Array.isArray(args['args']) ? args['args'].map(String).join(' ') : first(args, 'args'));
const short = (text: string): string => (text.length > LONG ? `${text.slice(0, LONG)}…` : text);

function run(args: Args): string {
  const command = first(args, 'command', 'cmd');
  const isLong = !command || command.length > LONG || command.includes('\n');
  if (args['background'] === true && !isLong) return words.background(command);
  return isLong ? words.execLong(folderOf(args)) : words.exec(command, folderOf(args));
}

const LANGUAGES: Record<string, string> = { execute_python: 'Python', execute_javascript: 'JavaScript' };

const PLAIN: Record<string, (args: Args) => string> = {
  exec: run,
  execute_shell: run,
  execute_python: () => words.code(LANGUAGES['execute_python'] ?? ''),
  execute_javascript: () => words.code(LANGUAGES['execute_javascript'] ?? ''),
  compile_code: (args) => words.compile(first(args, 'language')),
  package_manager: (args) => words.packages(short(first(args, 'command', 'cmd'))),
  credentialed_exec: (args) => words.credentialed(first(args, 'binary') || words.something, short(argsOf(args))),
  run_cli_tool: (args) => words.cli(first(args, 'name') || words.something, short(argsOf(args))),
  install_cli_tool: (args) => words.install(first(args, 'name') || words.something),
  run_coding_task: (args) => words.coding(first(args, 'provider', 'agent') || words.agent, folderOf(args)),
  write_process: () => words.input,
  stop_process: () => words.stop,
  delete_file: (args) => words.remove(pathOf(args)),
  write_file: (args) => words.write(pathOf(args)),
  edit: (args) => words.edit(pathOf(args)),
  edit_file: (args) => words.edit(pathOf(args)),
  create_folder: (args) => words.folder(pathOf(args)),
  move_file: (args) => words.move(first(args, 'source', 'from', 'path') || words.something, first(args, 'destination', 'to') || words.something),
  copy_file: (args) => words.copy(first(args, 'source', 'from', 'path') || words.something, first(args, 'destination', 'to') || words.something),
  download_file: (args) => words.download(first(args, 'url') || words.something, first(args, 'path', 'filename')),
  git_commit: (args) => words.commit(short(first(args, 'message'))),
  git_add: () => words.add,
  git_checkout: (args) => words.checkout(first(args, 'target', 'branch') || words.something),
  git_branch: (args) => (args['action'] === 'delete' ? words.branchDelete : words.branch)(first(args, 'name', 'branch') || words.something),
};

export const WORKSHOP: Record<string, (args: Args) => Promise<string>> = Object.fromEntries(
  Object.entries(PLAIN).map(([tool, ask]) => [tool, (args: Args) => Promise.resolve(ask(args))]),
);
