/* The guest: quickjs-ng behind a re-entrant ABI. It never blocks: an operation hands its work to the host and gives
 * JavaScript a promise; the host calls `settle` when the answer is there. After `init` and `load` the host keeps a
 * copy of the linear memory, and lays it into a fresh instance for every call.
 *
 * There are two contexts in one runtime. `compiler` has the parser and runs nothing; `ctx` runs everything and has no
 * parser, so that no string can become code there, whatever a tool digs up. Bytecode goes from one to the other.
 *
 * Every text that comes in was put into memory from `reserve` and is freed here; it has a zero byte behind its end. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("host"), import_name(#name)))

/* Uniform in [0, 1), from the operating system's generator. */
IMPORT(random) extern double host_random(void);
IMPORT(log) extern void host_log(int level, const char *text, int len);
/* Starts an asynchronous operation: its id (> 0), or minus the length of the reason why not. */
IMPORT(operate) extern int host_operate(const char *op, int op_len, const char *input, int input_len);
/* Answers at once: the length of the JSON (>= 0), or minus the length of the error's text. */
IMPORT(query) extern int host_query(const char *op, int op_len, const char *input, int input_len);
/* Copies what the last `operate` or `query` had to say. */
IMPORT(take) extern void host_take(char *to);

/* What a call into the guest comes back with; instance.rs has the same list. */
enum { DONE = 0, WAITING = 1, THROWN = 2, STUCK = 3, BROKEN = 4 };

#define STACK_LIMIT (768 * 1024) /* of the 1 MB that build.rs gives the linker */
#define GC_THRESHOLD (4 * 1024 * 1024)

static JSRuntime *runtime;
static JSContext *compiler, *ctx;
static JSValue environment; /* what the guest's own scripts fill: utils, fetch, console */
static JSValue body;        /* the compiled tool */
static JSValue outcome;     /* the promise of the running tool */

typedef struct { JSValue resolve, reject, error; } Operation;
static Operation *operations; /* by id */
static int capacity, in_flight;

static const char OUT_OF_MEMORY[] = "InternalError: out of memory";
static const char *result_text;
static int result_len;

static int finish(int status, const char *text, size_t len) {
  char *copy = malloc(len + 1);
  if (copy) memcpy(copy, text, len);
  result_text = copy ? copy : OUT_OF_MEMORY;
  result_len = copy ? (int)len : (int)sizeof OUT_OF_MEMORY - 1;
  return status;
}

/* ---- values to text ---- */

/* A new C string for a property, or NULL; errors thrown by a tool's own getters are swallowed. */
static const char *property_text(JSValueConst object, const char *name, size_t *len) {
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  const char *text = NULL;
  if (JS_IsString(value)) text = JS_ToCStringLen(ctx, len, value);
  if (JS_IsException(value) || !text) JS_FreeValue(ctx, JS_GetException(ctx));
  JS_FreeValue(ctx, value);
  return text;
}

/* "name: message", a zero byte, the stack. */
static int finish_with_error(JSValueConst error) {
  size_t name_len = 0, message_len = 0, stack_len = 0;
  const char *name = property_text(error, "name", &name_len);
  const char *message = property_text(error, "message", &message_len);
  const char *stack = property_text(error, "stack", &stack_len);
  size_t len = 0;
  char *text = malloc(name_len + message_len + stack_len + 8);
  if (!text) return finish(THROWN, OUT_OF_MEMORY, sizeof OUT_OF_MEMORY - 1);
  if (name_len) memcpy(text, name, name_len), len = name_len;
  else memcpy(text, "Error", 5), len = 5;
  if (message_len) {
    memcpy(text + len, ": ", 2);
    memcpy(text + len + 2, message, message_len);
    len += 2 + message_len;
  }
  text[len++] = 0;
  if (stack_len) memcpy(text + len, stack, stack_len), len += stack_len;
  result_text = text;
  result_len = (int)len;
  return THROWN;
}

static int finish_with_thrown(JSValue thrown) {
  int status;
  if (JS_IsError(thrown)) {
    status = finish_with_error(thrown);
  } else {
    JSValue json = JS_JSONStringify(ctx, thrown, JS_UNDEFINED, JS_UNDEFINED);
    size_t len;
    const char *text = JS_IsString(json) ? JS_ToCStringLen(ctx, &len, json) : NULL;
    status = text ? finish(THROWN, text, len) : finish(THROWN, "a value that is no error", 24);
  }
  JS_FreeValue(ctx, thrown);
  return status;
}

static int finish_with_exception(void) { return finish_with_thrown(JS_GetException(ctx)); }

static int finish_with_result(void) {
  JSValue value = JS_PromiseResult(ctx, outcome);
  JSValue json = JS_JSONStringify(ctx, value, JS_UNDEFINED, JS_UNDEFINED);
  if (JS_IsException(json)) return finish_with_exception();
  if (JS_IsUndefined(json)) return finish(DONE, "null", 4);
  size_t len;
  const char *text = JS_ToCStringLen(ctx, &len, json);
  return text ? finish(DONE, text, len) : finish_with_exception();
}

/* Runs all that can run without the host, then says where the tool stands. */
static int pump(void) {
  JSContext *context;
  int ran;
  while ((ran = JS_ExecutePendingJob(runtime, &context)) > 0) {}
  if (ran < 0) return finish_with_exception();
  switch (JS_PromiseState(ctx, outcome)) {
  case JS_PROMISE_FULFILLED: return finish_with_result();
  case JS_PROMISE_REJECTED: return finish_with_thrown(JS_PromiseResult(ctx, outcome));
  case JS_PROMISE_PENDING: return in_flight > 0 ? WAITING : STUCK;
  default: return BROKEN;
  }
}

/* ---- what the guest's own scripts get as `native` ---- */

typedef int Ask(const char *, int, const char *, int);

/* Calls the host with (op, input as JSON). False if a JavaScript exception is pending. */
static bool ask(JSContext *c, Ask *host, JSValueConst *argv, int *answer) {
  JSValue json = JS_JSONStringify(c, argv[1], JS_UNDEFINED, JS_UNDEFINED);
  if (JS_IsException(json)) return false;
  size_t op_len, input_len = 4;
  const char *op = JS_ToCStringLen(c, &op_len, argv[0]);
  const char *input = JS_IsUndefined(json) ? "null" : JS_ToCStringLen(c, &input_len, json);
  bool ok = op && input;
  if (ok) *answer = host(op, (int)op_len, input, (int)input_len);
  JS_FreeCString(c, op);
  if (!JS_IsUndefined(json)) JS_FreeCString(c, input);
  JS_FreeValue(c, json);
  return ok;
}

static char *take(int len) {
  char *text = malloc((size_t)len + 1);
  if (!text) return NULL;
  host_take(text);
  text[len] = 0;
  return text;
}

/* Throws the host's text as an ordinary Error. */
static JSValue throw_answer(JSContext *c, int len) {
  char *text = take(len);
  if (!text) return JS_ThrowOutOfMemory(c);
  JS_ThrowPlainError(c, "%s", text);
  JSValue error = JS_GetException(c);
  /* Once more and in full: the line above cuts long texts. */
  JS_DefinePropertyValueStr(c, error, "message", JS_NewStringLen(c, text, len), JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  free(text);
  return JS_Throw(c, error);
}

static JSValue native_query(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int len;
  if (!ask(c, host_query, argv, &len)) return JS_EXCEPTION;
  if (len < 0) return throw_answer(c, -len);
  char *text = take(len);
  if (!text) return JS_ThrowOutOfMemory(c);
  JSValue value = JS_ParseJSON(c, text, len, "<answer>");
  free(text);
  return value;
}

static bool make_room(int id) {
  if (id < capacity) return true;
  int wanted = id * 2 + 8;
  Operation *more = realloc(operations, wanted * sizeof *more);
  if (!more) return false;
  for (int i = capacity; i < wanted; i++) more[i] = (Operation){JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED};
  operations = more;
  capacity = wanted;
  return true;
}

/* (op, input, error) -> promise; `error` was made where the tool called, so that a refusal points into its code. */
static JSValue native_operate(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int id;
  if (!ask(c, host_operate, argv, &id)) return JS_EXCEPTION;
  if (id <= 0) return throw_answer(c, -id);
  JSValue settle[2];
  JSValue promise = make_room(id) ? JS_NewPromiseCapability(c, settle) : JS_ThrowOutOfMemory(c);
  if (JS_IsException(promise)) return promise;
  operations[id] = (Operation){settle[0], settle[1], JS_DupValue(c, argv[2])};
  in_flight++;
  return promise;
}

static JSValue native_log(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int level = 0;
  size_t len;
  JS_ToInt32(c, &level, argv[0]);
  const char *text = JS_ToCStringLen(c, &len, argv[1]);
  if (!text) return JS_EXCEPTION;
  host_log(level, text, (int)len);
  JS_FreeCString(c, text);
  return JS_UNDEFINED;
}

static JSValue native_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  return JS_NewFloat64(c, host_random());
}

static JSValue native_encode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  size_t len;
  const char *text = JS_ToCStringLen(c, &len, argv[0]);
  if (!text) return JS_EXCEPTION;
  JSValue bytes = JS_NewUint8ArrayCopy(c, (const uint8_t *)text, len);
  JS_FreeCString(c, text);
  return bytes;
}

static JSValue native_decode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  size_t len;
  const uint8_t *bytes = JS_GetUint8Array(c, &len, argv[0]);
  return bytes ? JS_NewStringLen(c, (const char *)bytes, len) : JS_EXCEPTION;
}

static JSValue native_functions(void) {
  static const struct { const char *name; JSCFunction *call; int argc; } LIST[] = {
      {"operate", native_operate, 3}, {"query", native_query, 2},   {"log", native_log, 2},
      {"random", native_random, 0},   {"encode", native_encode, 1}, {"decode", native_decode, 1},
  };
  JSValue native = JS_NewObject(ctx);
  for (size_t i = 0; i < sizeof LIST / sizeof *LIST; i++)
    JS_SetPropertyStr(ctx, native, LIST[i].name, JS_NewCFunction(ctx, LIST[i].call, LIST[i].name, LIST[i].argc));
  return native;
}

/* ---- compiling ---- */

static JSValue compile_only(const char *code, int len, const char *file) {
  JSEvalOptions options = {
      .version = JS_EVAL_OPTIONS_VERSION,
      .eval_flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT | JS_EVAL_FLAG_COMPILE_ONLY,
      .filename = file,
      .line_num = 1,
  };
  return JS_Eval2(compiler, code, len, &options);
}

/* Carries bytecode over to the context that runs, and runs it there. */
static JSValue run_compiled(JSValue compiled) {
  size_t len;
  uint8_t *bytes = JS_WriteObject(compiler, &len, compiled, JS_WRITE_OBJ_BYTECODE);
  JS_FreeValue(compiler, compiled);
  if (!bytes) return JS_EXCEPTION;
  JSValue script = JS_ReadObject(ctx, bytes, len, JS_READ_OBJ_BYTECODE);
  js_free(compiler, bytes);
  return JS_IsException(script) ? script : JS_EvalFunction(ctx, script);
}

/* All but the parser: JS_NewContext would add it. */
static bool add_intrinsics(JSContext *c) {
  return !(JS_AddIntrinsicBaseObjects(c) || JS_AddIntrinsicDate(c) || JS_AddIntrinsicRegExp(c) ||
           JS_AddIntrinsicJSON(c) || JS_AddIntrinsicProxy(c) || JS_AddIntrinsicMapSet(c) ||
           JS_AddIntrinsicTypedArrays(c) || JS_AddIntrinsicPromise(c) || JS_AddIntrinsicWeakRef(c) ||
           JS_AddIntrinsicAToB(c));
}

/* ---- the ABI ---- */

EXPORT(reserve) void *reserve(int len) {
  char *memory = malloc((size_t)len + 1);
  if (memory) memory[len] = 0;
  return memory;
}

/* Address in the upper half, length in the lower. */
EXPORT(result) int64_t result(void) {
  return ((int64_t)(uint32_t)(uintptr_t)result_text << 32) | (uint32_t)result_len;
}

EXPORT(init) int init(void) {
  runtime = JS_NewRuntime();
  if (!runtime) return BROKEN;
  JS_SetMaxStackSize(runtime, STACK_LIMIT);
  JS_SetGCThreshold(runtime, GC_THRESHOLD);
  compiler = JS_NewContextRaw(runtime);
  ctx = JS_NewContextRaw(runtime);
  if (!compiler || !ctx || !add_intrinsics(ctx)) return BROKEN;
  if (JS_AddIntrinsicBaseObjects(compiler) || JS_AddIntrinsicEval(compiler)) return BROKEN;
  JS_AddIntrinsicRegExpCompiler(compiler);
  environment = JS_NewObject(ctx);
  body = outcome = JS_UNDEFINED;
  return DONE;
}

/* Runs one of the guest's own scripts, a function of (native, environment), before the snapshot. */
EXPORT(load) int load(char *code, int len) {
  JSValue compiled = compile_only(code, len, "sandbox");
  free(code);
  if (JS_IsException(compiled)) return finish_with_exception();
  JSValue script = run_compiled(compiled);
  if (JS_IsException(script)) return finish_with_exception();
  JSValue argv[2] = {native_functions(), environment};
  JSValue done = JS_Call(ctx, script, JS_UNDEFINED, 2, argv);
  JS_FreeValue(ctx, argv[0]);
  JS_FreeValue(ctx, script);
  if (JS_IsException(done)) return finish_with_exception();
  JS_RunGC(runtime);
  return DONE;
}

/* Compiles a tool in one of its two wrappers; `keep` says that this is the one to run. */
EXPORT(compile) int compile(char *code, int len, int keep) {
  JSValue compiled = compile_only(code, len, "tool");
  free(code);
  if (JS_IsException(compiled)) return finish_with_exception();
  if (!keep) {
    JS_FreeValue(compiler, compiled);
    return DONE;
  }
  JSValue holder = run_compiled(compiled);
  if (JS_IsException(holder)) return finish_with_exception();
  body = JS_GetPropertyStr(ctx, holder, "tool");
  JS_FreeValue(ctx, holder);
  return JS_IsFunction(ctx, body) ? DONE : BROKEN;
}

EXPORT(start) int start(char *args, int args_len, char *context, int context_len, int network) {
  JSValue argv[5] = {
      JS_ParseJSON(ctx, args, args_len, "<args>"),
      JS_ParseJSON(ctx, context, context_len, "<context>"),
      JS_GetPropertyStr(ctx, environment, "utils"),
      network ? JS_GetPropertyStr(ctx, environment, "fetch") : JS_UNDEFINED,
      JS_GetPropertyStr(ctx, environment, "console"),
  };
  free(args);
  free(context);
  if (JS_IsException(argv[0]) || JS_IsException(argv[1])) return finish_with_exception();
  outcome = JS_Call(ctx, body, JS_UNDEFINED, 5, argv);
  for (int i = 0; i < 5; i++) JS_FreeValue(ctx, argv[i]);
  return JS_IsException(outcome) ? finish_with_exception() : pump();
}

/* Delivers the answer to an operation: JSON, or the text of an error. */
EXPORT(settle) int settle(int id, int ok, char *text, int len) {
  if (id <= 0 || id >= capacity) return BROKEN;
  Operation operation = operations[id];
  operations[id] = (Operation){JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED};
  in_flight--;
  JSValue value = ok ? JS_ParseJSON(ctx, text, len, "<answer>") : operation.error;
  if (!ok)
    JS_DefinePropertyValueStr(ctx, value, "message", JS_NewStringLen(ctx, text, len), JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  free(text);
  if (JS_IsException(value)) ok = 0, value = JS_GetException(ctx);
  JSValue called = JS_Call(ctx, ok ? operation.resolve : operation.reject, JS_UNDEFINED, 1, &value);
  JS_FreeValue(ctx, operation.resolve);
  JS_FreeValue(ctx, operation.reject);
  JS_FreeValue(ctx, value);
  if (JS_IsException(called)) return finish_with_exception();
  JS_FreeValue(ctx, called);
  return pump();
}
