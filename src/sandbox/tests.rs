//! The isolation suite: each hostile case ends as it should, and a clean call follows.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::*;

/// A host that answers: fetches take 100 ms, URLs with `bad` fail, `callTool` echoes, config knows one service.
#[derive(Default)]
pub(crate) struct House {
    running: Arc<AtomicUsize>,
    /// The most operations that ran at the same time.
    peak: AtomicUsize,
}

/// Counts an operation for as long as its future lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Host for House {
    fn operate(&self, op: &str, input: Value) -> BoxFuture<'static, Result<Value, String>> {
        let op = op.to_owned();
        self.peak.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let counted = Counted(self.running.clone());
        Box::pin(async move {
            let _counted = counted;
            match op.as_str() {
                "fetch" => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let url = input["url"].as_str().unwrap_or_default();
                    if url.contains("bad") {
                        return Err("connection refused".to_owned());
                    }
                    let status = if url.contains("missing") { 404 } else { 200 };
                    let body = if url.contains("text") { "just text".to_owned() } else { input.to_string() };
                    Ok(
                        json!({"status": status, "headers": {"Content-Type": "application/json"}, "body": body, "url": url}),
                    )
                }
                "callTool" if input["name"] == "panic" => panic!("a host that panics"),
                "callTool" if input["name"] == "fail" => Err("it\nfailed: ".to_owned() + &"ü".repeat(400)),
                _ => Ok(input),
            }
        })
    }

    fn query(&self, op: &str, input: Value) -> Result<Value, String> {
        match (op, input["service"].as_str()) {
            ("listTools", _) => Ok(json!([{"name": "echo", "description": "Echo", "parameters": {}}])),
            (_, Some("secret")) => Err("this tool may not read secret".to_owned()),
            ("getApiKey", Some("weather")) => Ok(json!("k-1")),
            ("getConfigEntries", Some("weather")) => Ok(json!([{"label": "a"}, {"label": "b"}])),
            ("getFieldValue", Some("weather")) => Ok(input),
            _ => Ok(Value::Null),
        }
    }
}

pub(crate) fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::new(Duration::from_secs(60), 256 << 20))
}

fn limits() -> Limits {
    Limits { cpu: Duration::from_millis(800), wall: Duration::from_secs(30), ..Limits::default() }
}

pub(crate) fn script(code: &str) -> Script {
    Script {
        code: code.to_owned(),
        args: json!({"a": 6, "b": 7, "text": "ünï 𝄞"}),
        context: json!({"toolName": "t"}),
        network: true,
        nested: false,
    }
}

pub(crate) async fn run(code: &str) -> Outcome {
    sandbox().run(script(code), Arc::new(House::default()), limits()).await
}

/// The expected outcome of a case.
enum End {
    Gives(Value),
    /// A thrown error whose text holds this.
    Throws(&'static str),
    Fails(Fault),
    /// One of the ways to run out of something, whichever comes first.
    Exhausts,
}
use End::*;

async fn check(cases: Vec<(&str, End)>) {
    for (code, end) in cases {
        let result = run(code).await.result;
        match end {
            Gives(value) => assert_eq!(result, Ok(value), "{code}"),
            Fails(fault) => assert_eq!(result, Err(fault), "{code}"),
            Throws(part) => {
                assert!(matches!(&result, Err(Fault::Thrown(text)) if text.contains(part)), "{code}: {result:?}")
            }
            Exhausts => {
                let stack = |text: &str| text.contains("stack") || text.contains("invalid") || text.contains("too ");
                let ended = match &result {
                    Err(Fault::Memory(_) | Fault::Cpu(_) | Fault::Stack) => true,
                    Err(Fault::Thrown(text)) => stack(text),
                    _ => false,
                };
                assert!(ended, "{code}: {result:?}");
            }
        }
        let clean = run("return args.a * args.b").await;
        assert_eq!(clean.result, Ok(json!(42)), "after {code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_and_errors() {
    check(vec![
        ("return args.text + context.toolName", Gives(json!("ünï 𝄞t"))),
        ("args.a;", Gives(Value::Null)),
        ("return (() => {})", Gives(Value::Null)),
        ("return {then(done) { done('thenable') }}", Gives(json!("thenable"))),
        ("return 'a😀'.slice(0, 2) + '\\\\ud800'", Gives(json!("a\u{fffd}\\ud800"))),
        ("return [NaN, 1e400, -0, 2 ** 53, undefined]", Gives(json!([null, null, 0, 9007199254740992u64, null]))),
        ("return 1 // a comment ends the code", Gives(json!(1))),
        (
            "const x = null;\n\nreturn x.foo;",
            Throws("TypeError: cannot read property 'foo' of null (line 3, column 8)"),
        ),
        ("const f = () => {\n  throw new RangeError('no');\n};\nf();", Throws("RangeError: no (line 2, column")),
        ("await null;\nawait fetch('http://bad/')", Throws("Error: connection refused (line 2")),
        ("return ((;", Throws("SyntaxError: unexpected token in expression: ';' (line 1, column 10)")),
        ("if (1) {", Throws("SyntaxError")),
        ("throw new Error('x'.repeat(3e6))", Throws("xxx…")),
        ("throw {code: 7}", Throws("the tool threw {\"code\":7}")),
        ("throw undefined", Throws("the tool threw a value that is no error")),
        ("throw Object.defineProperty(new Error('m'), 'name', {get() { throw 1 }})", Throws("Error: m")),
        ("const a = {}; a.a = a; return a", Throws("circular")),
        ("return 1n", Throws("BigInt")),
        ("undeclared = 1", Throws("ReferenceError")),
        ("return this === undefined", Gives(json!(true))),
        (
            "try { await utils.callTool('fail') } catch (e) { return [e.message.length, e instanceof Error] }",
            Gives(json!([411, true])),
        ),
        ("return await utils.callTool('panic')", Fails(Fault::Internal("an operation of the host panicked".into()))),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there() {
    check(vec![
        (
            "return [typeof eval, typeof Function, typeof globalThis, typeof setTimeout, typeof process, typeof require, \
             typeof SharedArrayBuffer, typeof Atomics, typeof WebAssembly, typeof std, typeof os].every(t => t === 'undefined')",
            Gives(json!(true)),
        ),
        ("return (function () {}).constructor('return 1')()", Throws("not a function")),
        ("return (async () => {}).constructor('return 1')()", Throws("not a function")),
        ("return (function* () {}).constructor('return 1')()", Throws("not a function")),
        ("return Object.getPrototypeOf(async function* () {}).constructor ?? 'gone'", Gives(json!("gone"))),
        ("return utils.now.constructor ?? fetch.constructor ?? console.log.constructor ?? 'gone'", Gives(json!("gone"))),
        ("return await import('fs')", Throws("Error")),
        // Out of the function's body, in each of the two wrappers and in both.
        ("return 1;}), (function(){ return 2", Throws("SyntaxError")),
        ("} throw 'out'; async function x() {", Throws("SyntaxError")),
        ("}, async other() {", Throws("SyntaxError")),
        ("} (0), function() {", Throws("SyntaxError")),
        ("} }); ({ async tool() { return 'out'", Throws("SyntaxError")),
        ("/*", Throws("SyntaxError")),
        ("`", Throws("SyntaxError")),
        ("return 1 <!-- x", Gives(json!(1))),
    ])
    .await;
    let silent =
        sandbox().run(Script { network: false, ..script("return typeof fetch") }, Arc::new(House::default()), limits());
    assert_eq!(silent.await.result, Ok(json!("undefined")));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_lasts() {
    check(vec![
        (
            "Object.prototype.polluted = 1; Array.prototype.map = null; JSON.stringify = () => 'x'; Promise.prototype.then = null;
             Object.prototype.toJSON = undefined; Math.random = () => 4; String.prototype.slice = null; console.log = null; return 'done'",
            Gives(json!("done")),
        ),
        ("return [({}).polluted === undefined, typeof [].map, typeof console.log, Math.random() < 1]", Gives(json!([true, "function", "function", true]))),
    ])
    .await;
    let (first, second) =
        (run("return [Math.random(), Date.now()]").await, run("return [Math.random(), Date.now()]").await);
    let (first, second) = (first.result.unwrap(), second.result.unwrap());
    assert_ne!(first[0], second[0]);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as f64;
    assert!((second[1].as_f64().unwrap() - now).abs() < 60_000.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cpu_memory_and_stack() {
    let limits = limits();
    check(vec![
        ("while (true) {}", Fails(Fault::Cpu(limits.cpu))),
        ("const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})", Fails(Fault::Cpu(limits.cpu))),
        ("for (;;) try { for (;;); } catch {}", Fails(Fault::Cpu(limits.cpu))),
        ("return /^(a+)+$/.test('a'.repeat(40) + 'b')", Fails(Fault::Cpu(limits.cpu))),
        ("const o = {get name() { for (;;); }}; throw Object.setPrototypeOf(o, Error.prototype)", Exhausts),
        ("return {toJSON() { for (;;); }}", Fails(Fault::Cpu(limits.cpu))),
        ("await new Promise(() => {})", Fails(Fault::NeverSettles)),
        ("const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))", Fails(Fault::Memory(limits.memory))),
        ("let s = 'x'; for (;;) s += s", Exhausts),
        ("return 'a'.repeat(2 ** 30).length", Exhausts),
        ("return 'a'.repeat(2 ** 29).length", Exhausts),
        ("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", Exhausts),
        (
            "try { const a = []; for (;;) a.push(new ArrayBuffer(1 << 20)) } catch (e) { return e.message }",
            Gives(json!("out of memory")),
        ),
        ("const f = n => f(n + 1) + 1; return f(0)", Throws("stack")),
        (
            "let d = 0; const f = () => { d++; f() }; try { f() } catch (e) { return [e.name, d > 100] }",
            Gives(json!(["RangeError", true])),
        ),
        ("return JSON.parse('['.repeat(200000))", Exhausts),
        ("return new RegExp('('.repeat(50000) + ')'.repeat(50000)).test('a')", Exhausts),
        ("const f = () => [2, 1].sort(f); return f()", Exhausts),
        ("let p = {}; for (let i = 0; i < 30000; i++) p = new Proxy(p, {}); return p.x", Exhausts),
        ("const o = {toString() { return '' + o }}; return '' + o", Exhausts),
        ("let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; return o", Exhausts),
        ("let o = 1; for (let i = 0; i < 200; i++) o = [o]; return o", Throws("recursion limit")),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_code_is_refused() {
    for code in [
        "(".repeat(100_000),
        "[".repeat(50_000),
        "!".repeat(100_000) + "1",
        "a=>".repeat(50_000) + "1",
        "`${".repeat(20_000),
    ] {
        let result = run(&code).await.result;
        assert!(
            matches!(result, Err(Fault::Thrown(_) | Fault::Stack | Fault::Memory(_) | Fault::Cpu(_))),
            "{:?}",
            result
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_logs_and_operations() {
    check(vec![
        ("return 'a'.repeat(3e6)", Fails(Fault::TooMuchOutput(1 << 20))),
        (
            "return await utils.callTool('echo', {a: 'a'.repeat(2e6)})",
            Throws("the input of callTool is larger than 1 MB"),
        ),
        (
            "const p = []; for (let i = 0; i < 300; i++) p.push(utils.sleep(1)); await Promise.all(p)",
            Throws("at most 100 times"),
        ),
        ("for (let i = 0; i < 20; i++) await utils.sleep(0); return 'slept'", Gives(json!("slept"))),
        (
            "const p = []; for (let i = 0; i < 11; i++) p.push(fetch('http://x/')); await Promise.all(p)",
            Throws("may fetch at most 10 times"),
        ),
        ("for (let i = 0; i < 200; i++) utils.getApiKey('weather')", Throws("at most 100 times")),
        ("for (let i = 0; i < 200; i++) utils.hash('x'); return 'free'", Gives(json!("free"))),
        ("utils.sleep(100000); return 'unawaited'", Gives(json!("unawaited"))),
        ("return await utils.sleep(-1)", Throws("TypeError: utils.sleep wants milliseconds of at least 0")),
    ])
    .await;
    let spoken =
        run("console.log('a', {b: 1}, null); console.warn(new TypeError('w')); console.error(1); console.debug()")
            .await
            .logs;
    let spoken: Vec<_> = spoken.iter().map(|log| (log.level, log.text.as_str())).collect();
    assert_eq!(spoken, [("log", "a {\"b\":1} null"), ("warn", "TypeError: w"), ("error", "1"), ("debug", "")]);
    let flood = run("for (let i = 0; i < 5000; i++) console.log('x'.repeat(100)); return 1").await;
    let bytes: usize = flood.logs.iter().map(|log| log.text.len()).sum();
    assert!(flood.result.is_ok() && bytes <= 65 << 10, "{bytes}");
    assert!(flood.logs.last().unwrap().text.contains("dropped after 64 KB"));
}

#[tokio::test(flavor = "multi_thread")]
async fn wall_time_counts_waiting_and_operations_end() {
    let house = Arc::new(House::default());
    let limits = Limits { wall: Duration::from_millis(150), ..limits() };
    let outcome =
        sandbox().run(script("fetch('http://x/'); await utils.sleep(60000)"), house.clone(), limits.clone()).await;
    assert_eq!(outcome.result, Err(Fault::Wall(limits.wall)));
    assert!(outcome.cpu < Duration::from_millis(100));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(house.running.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_run_side_by_side_and_responses_read_like_the_web() {
    let house = Arc::new(House::default());
    let all = "const r = await Promise.all([1, 2, 3, 4, 5].map(i => fetch('http://x/' + i))); return r.length";
    assert_eq!(sandbox().run(script(all), house.clone(), limits()).await.result, Ok(json!(5)));
    assert_eq!(house.peak.load(Ordering::SeqCst), 5);
    check(vec![
        (
            "const r = await fetch(new URL('http://x/a'), {method: 'post', headers: {'X-A': 1}, body: JSON.stringify({q: 1})});
             const sent = await r.json(); return [r.ok, r.status, r.statusText, r.url, r.headers.get('content-type'), r.headers.has('x'), sent]",
            Gives(json!([true, 200, "OK", "http://x/a", "application/json", false,
                {"url": "http://x/a", "method": "POST", "headers": {"x-a": "1"}, "body": "{\"q\":1}"}])),
        ),
        (
            "const r = await fetch('http://x/', {method: 'POST', body: new URLSearchParams({a: 'b c'})}); const s = await r.json(); return [s.body, s.headers['content-type'].slice(0, 33)]",
            Gives(json!(["a=b+c", "application/x-www-form-urlencoded"])),
        ),
        ("const r = await fetch('http://x/missing'); return [r.ok, r.statusText, [...r.headers].length]", Gives(json!([false, "Not Found", 1]))),
        ("return await (await fetch('http://x/text')).json()", Throws("is not JSON")),
        ("return (await (await fetch('http://x/text')).arrayBuffer()).byteLength", Gives(json!(9))),
        ("await fetch('http://x/', {body: {a: 1}})", Throws("use JSON.stringify")),
        ("try { await fetch('http://bad/') } catch (e) { return 'caught ' + e.message }", Gives(json!("caught connection refused"))),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_stops_computing_and_frees_its_turn() {
    let sandbox = Sandbox::new(Duration::from_secs(60), 256 << 20);
    sandbox.run(script("return 1"), Arc::new(House::default()), limits()).await.result.unwrap();
    let long = Limits { cpu: Duration::from_secs(3600), wall: Duration::from_secs(3600), ..limits() };
    let endless: Vec<_> = (0..COMPUTING)
        .map(|_| {
            let (sandbox, long) = (sandbox.clone(), long.clone());
            tokio::spawn(async move { sandbox.run(script("for (;;);"), Arc::new(House::default()), long).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(sandbox.0.budget.free_slots(), 0);
    // Waiting for a turn is not the tool's time: 300 ms of wall are enough after 400 ms in the queue.
    let waiting = {
        let (sandbox, short) = (sandbox.clone(), Limits { wall: Duration::from_millis(300), ..limits() });
        tokio::spawn(async move { sandbox.run(script("return 1"), Arc::new(House::default()), short).await })
    };
    tokio::time::sleep(Duration::from_millis(400)).await;
    endless.iter().for_each(|task| task.abort());
    let began = Instant::now();
    let outcome = waiting.await.unwrap();
    assert_eq!(outcome.result, Ok(json!(1)));
    assert!(outcome.wall < Duration::from_millis(300), "{:?}", outcome.wall);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_goes_after_an_idle_time_and_comes_back() {
    let sandbox = Sandbox::new(Duration::from_millis(50), 256 << 20);
    assert!(sandbox.0.machine.lock().await.is_none());
    for _ in 0..2 {
        sandbox
            .run(script("return await utils.sleep(120)"), Arc::new(House::default()), limits())
            .await
            .result
            .unwrap();
        let began = Instant::now();
        while sandbox.0.machine.lock().await.is_some() {
            assert!(began.elapsed() < Duration::from_secs(10), "the engine stays");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trivial_call_is_cheap() {
    let mut cpu = Duration::ZERO;
    for _ in 0..20 {
        cpu += run("return args.a + args.b").await.cpu;
    }
    println!("a trivial call takes {:?} of CPU", cpu / 20);
    assert!(cpu / 20 < Duration::from_millis(20));
}
