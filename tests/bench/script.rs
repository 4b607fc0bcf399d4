//! A trivial JavaScript call in the sandbox: a fresh instance, one expression, the result.

use crate::{Result, Watch};
use futures::future::BoxFuture;
use sandbox::{Host, Limits, Sandbox, Script};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// A host that offers nothing.
struct Nothing;

impl Host for Nothing {
    fn operate(&self, op: &str, _: Value) -> BoxFuture<'static, std::result::Result<Value, String>> {
        let problem = format!("no {op} here");
        Box::pin(async move { Err(problem) })
    }
    fn query(&self, op: &str, _: Value) -> std::result::Result<Value, String> {
        Err(format!("no {op} here"))
    }
}

/// Calls `calls` times; making the engine and its snapshot is told apart.
pub fn measure(calls: usize) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
    let (sandbox, host) = (Sandbox::new(Duration::from_secs(600), 256 << 20), Arc::new(Nothing));
    let call = |code: &str| {
        let script = Script {
            code: code.into(),
            args: json!({"a": 40, "b": 2}),
            context: json!({}),
            network: false,
            nested: false,
        };
        let outcome = runtime.block_on(sandbox.run(script, host.clone(), Limits::default()));
        outcome.result.map_err(|fault| format!("{fault:?}"))
    };
    let watch = Watch::start();
    call("return 1")?;
    let start = watch.cpu_ms();

    let watch = Watch::start();
    for _ in 0..calls {
        if call("return args.a + args.b")? != json!(42) {
            return Err("the sum is wrong".into());
        }
    }
    let trivial = watch.cpu_ms() / calls as f64;

    let watch = Watch::start();
    call("function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } return fib(22)")?;
    Ok(json!({"startCpuMs": start, "callCpuMs": trivial, "fib22CpuMs": watch.cpu_ms()}))
}
