//! What is due when, and whether it was done: for any scheduler that is a program of its own, Hob's or a peer's.
//!
//! `plan` writes down what is due in a while. The program keeps that as it does (`PROGRAM fill FOLDER`), and then lives
//! (`PROGRAM live FOLDER on|end`): it says `ready`, and notes each call it makes. `judge` ends it without notice at random
//! moments, starts it again, lets it end by itself at last, and compares what it noted with what was due.

use crate::{Dice, Result};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What is due: the beginning, the end, whether each call is to be on disk, then a line for each schedule.
const PLAN: &str = "plan";
/// The calls that were made: the schedule, and when in microseconds since 1970.
pub const MADE: &str = "made";
/// What the program itself says of its runs, where it does: schedule, time, status, how often it was made again.
pub const RUNS: &str = "runs";
/// How long before the first is due the program is started, in milliseconds.
const BEFORE: i64 = 2000;
/// How long it lives, in milliseconds.
const LIVES: std::ops::RangeInclusive<u64> = 50..=1500;

/// When everything is due, in milliseconds since 1970, and whether a call is on disk before it has ended.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub start_ms: i64,
    pub end_ms: i64,
    pub durable: bool,
}

/// A schedule.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    pub n: usize,
    pub first_ms: i64,
    /// 0 is once.
    pub every_ms: i64,
}

impl Due {
    fn times(&self, end_ms: i64) -> Vec<i64> {
        match self.every_ms {
            0 => vec![self.first_ms],
            every => (0..).map(|k| self.first_ms + k * every).take_while(|at| *at <= end_ms).collect(),
        }
    }
    /// Whether it is one of those that come at the same moment.
    fn is_at_once(&self) -> bool {
        self.n.is_multiple_of(10)
    }
}

/// Plans `schedules` for `seconds` that begin `lead` seconds from now: of ten, one comes at the same moment as all its
/// like, one comes three times, and the others once, at any moment.
pub fn plan(folder: &Path, schedules: usize, seconds: i64, lead: i64, durable: bool) -> Result<Value> {
    fs::create_dir_all(folder)?;
    let (span, mut dice) = (seconds * 1000, Dice(schedules as u64));
    let start_ms = now_ms() + lead * 1000;
    let mut text = format!("{start_ms} {} {}\n", start_ms + span, u8::from(durable));
    for n in 0..schedules {
        let (first, every) = match n % 10 {
            0 => (span / 2, 0),
            1 => (dice.below(span as u64 / 6) as i64, span / 3),
            _ => (dice.below(span as u64) as i64, 0),
        };
        writeln!(text, "{n} {} {every}", start_ms + first)?;
    }
    fs::write(folder.join(PLAN), text)?;
    Ok(json!({"startMs": start_ms}))
}

/// The terms alone: a life needs no more.
pub fn terms(folder: &Path) -> Result<Terms> {
    let mut line = String::new();
    BufReader::new(fs::File::open(folder.join(PLAN))?).read_line(&mut line)?;
    let [start_ms, end_ms, durable] = numbers(&line)?;
    Ok(Terms { start_ms, end_ms, durable: durable > 0 })
}

/// What is due.
pub fn schedules(folder: &Path) -> Result<Vec<Due>> {
    let text = fs::read_to_string(folder.join(PLAN))?;
    let due = text.lines().skip(1).map(|line| {
        let [n, first_ms, every_ms] = numbers(line)?;
        Ok(Due { n: n as usize, first_ms, every_ms })
    });
    due.collect()
}

/// How long it is until the first is due, in milliseconds: to be said by whoever has kept the plan.
pub fn left(terms: Terms) -> Value {
    json!({"leftMs": terms.start_ms - BEFORE - now_ms()})
}

/// Starts the program, ends it `kills` times, lets it finish, and says what became of what was due.
///
/// # Errors
/// When the program ends by itself before it should, or makes a call before its time.
pub fn judge(folder: &Path, kills: usize, program: &[&str]) -> Result<Value> {
    let (terms, due) = (terms(folder)?, schedules(folder)?);
    let wait =
        u64::try_from(terms.start_ms - BEFORE - now_ms()).map_err(|_| "it is due already: plan it with more lead")?;
    thread::sleep(Duration::from_millis(wait));
    let (mut dice, mut ready) = (Dice(terms.start_ms as u64), vec![]);
    for _ in 0..kills {
        let life = Life::begin(program, folder, "on")?;
        ready.push(life.ready_ms);
        thread::sleep(Duration::from_millis(LIVES.start() + dice.below(LIVES.end() - LIVES.start() + 1)));
        life.kill()?;
    }
    let killed_ms = now_ms();
    let life = Life::begin(program, folder, "end")?;
    ready.push(life.ready_ms);
    let told = life.finish()?;
    let mut found = compare(folder, terms, &due)?;
    found["schedules"] = due.len().into();
    found["kills"] = kills.into();
    found["readyMs"] = spread(&mut ready);
    // Whether the kills went on for as long as something was due.
    found["killedForMs"] = (kills > 0).then_some(killed_ms - terms.start_ms).into();
    found["program"] = told;
    Ok(found)
}

/// One life of the program.
struct Life {
    child: Child,
    out: BufReader<ChildStdout>,
    ready_ms: f64,
}

impl Life {
    fn begin(program: &[&str], folder: &Path, how: &str) -> Result<Self> {
        let (name, words) = program.split_first().ok_or("there is no program to judge")?;
        let began = Instant::now();
        let mut command = Command::new(name);
        command.args(words).arg("live").arg(folder).arg(how).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("the program has no output")?;
        let mut life = Self { child, out: BufReader::new(out), ready_ms: 0.0 };
        let mut line = String::new();
        life.out.read_line(&mut line)?;
        if line.trim() != "ready" {
            return Err(format!("{program:?} does not begin: it says {line:?}").into());
        }
        life.ready_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(life)
    }

    /// Ends it without notice.
    fn kill(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            return Err(format!("the program ended by itself: {status}").into());
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it has ended, and answers what it told in the end.
    fn finish(mut self) -> Result<Value> {
        let mut told = String::new();
        self.out.read_to_string(&mut told)?;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("the program failed: {status}").into());
        }
        Ok(serde_json::from_str(&told)?)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // It has ended already, unless something went wrong here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compare(folder: &Path, terms: Terms, due: &[Due]) -> Result<Value> {
    let calls = calls(folder)?;
    let (mut all, mut lost, mut doubled, mut late, mut at_once) = (0, 0, 0, vec![], vec![]);
    for one in due {
        let times = one.times(terms.end_ms);
        let made = calls.get(&one.n).map_or(&[][..], Vec::as_slice);
        if made.iter().any(|at| *at < one.first_ms * 1000) {
            return Err(format!("the schedule {} was made before its time", one.n).into());
        }
        for (place, at) in times.iter().enumerate() {
            // What is made belongs to the last time before it.
            let until = times.get(place + 1).map_or(i64::MAX, |next| next * 1000);
            let mut mine = made.iter().filter(|call| (at * 1000..until).contains(*call));
            all += 1;
            match mine.next() {
                Some(call) if one.is_at_once() => at_once.push((call - at * 1000) as f64 / 1e3),
                Some(call) => late.push((call - at * 1000) as f64 / 1e3),
                None => lost += 1,
            }
            doubled += mine.count();
        }
    }
    Ok(json!({
        "due": all, "lost": lost, "doubled": doubled, "lateMs": spread(&mut late), "atOnceMs": spread(&mut at_once),
        "atOnce": at_once.len(), "recorded": recorded(folder, terms, due)?,
    }))
}

/// The calls of each schedule, in microseconds since 1970, the first first.
fn calls(folder: &Path) -> Result<HashMap<usize, Vec<i64>>> {
    let mut calls: HashMap<usize, Vec<i64>> = HashMap::new();
    for line in fs::read_to_string(folder.join(MADE))?.lines() {
        let [n, at] = numbers(line)?;
        calls.entry(n as usize).or_default().push(at);
    }
    calls.values_mut().for_each(|of| of.sort_unstable());
    Ok(calls)
}

/// What the program's own records say; null where it keeps none.
fn recorded(folder: &Path, terms: Terms, due: &[Due]) -> Result<Value> {
    let Ok(text) = fs::read_to_string(folder.join(RUNS)) else { return Ok(Value::Null) };
    let (mut ok, mut statuses, mut repeats) = (HashMap::new(), HashMap::<String, u64>::new(), 0);
    for line in text.lines() {
        let (rest, status) = line.rsplit_once(' ').ok_or("a run has no status")?;
        let [n, at, again] = numbers(rest)?;
        *statuses.entry(status.to_owned()).or_default() += 1;
        repeats += again;
        if status == "ok" {
            *ok.entry((n as usize, at)).or_insert(0) += 1;
        }
    }
    let once = |one: &Due, at: &i64| ok.get(&(one.n, *at)) == Some(&1);
    let wrong: usize = due.iter().map(|one| one.times(terms.end_ms).iter().filter(|at| !once(one, at)).count()).sum();
    Ok(json!({"notOnceOk": wrong, "statuses": statuses, "repeats": repeats}))
}

/// The middle, what one in a hundred exceeds, and the most; null of nothing.
pub fn spread(values: &mut [f64]) -> Value {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get(((values.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied();
    json!({"p50": at(0.5), "p99": at(0.99), "max": values.last()})
}

fn numbers<const N: usize>(line: &str) -> Result<[i64; N]> {
    let all: Vec<i64> = line.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
    all.try_into().map_err(|_| format!("{line:?} is not {N} numbers").into())
}

pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
