//! Drives Chromium without a window, by the DevTools protocol over two pipes. A test that uses it
//! begins with `needs!("chromium")`.

use crate::PATIENCE;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::Instant;

/// A browser on a loaded machine is slower than anything else that the tests start.
const LONGEST: std::time::Duration = PATIENCE.saturating_mul(3);

/// Chromium expects its orders on descriptor 3 and writes its answers to descriptor 4.
const COMMAND: &str = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser with one page.
pub struct Browser {
    child: Child,
    orders: RefCell<ChildStdin>,
    told: Receiver<Value>,
    /// The number of the last order.
    number: Cell<u64>,
    session: String,
    /// Events that no call has waited for.
    events: RefCell<Vec<Value>>,
    _home: tempfile::TempDir,
}

/// The window, and what the user prefers.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

impl Browser {
    /// Starts Chromium with an empty page.
    pub fn start() -> Browser {
        let home = tempfile::tempdir().expect("a folder for the browser");
        let mut command = Command::new("sh");
        command.args(["-c", COMMAND, "sh"]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu"]);
        command.args(["--disable-dev-shm-usage", "--remote-debugging-pipe"]);
        command.args(["--no-first-run", "--disable-background-networking"]);
        command.arg(format!("--user-data-dir={}/profile", home.path().display()));
        command.env("HOME", home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh can be run");
        let orders = child.stdin.take().expect("it was piped");
        let told = read(child.stdout.take().expect("it was piped"));
        let mut browser = Browser {
            child,
            orders: RefCell::new(orders),
            told,
            number: Cell::new(0),
            session: String::new(),
            events: RefCell::default(),
            _home: home,
        };
        let target = browser.order("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.order("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().expect("a session").into();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.order(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Gives an order and returns its result.
    ///
    /// # Panics
    /// The browser refuses the order.
    pub fn order(&self, method: &str, parameters: Value) -> Value {
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut order = json!({ "id": number, "method": method, "params": parameters });
        if !self.session.is_empty() {
            order["sessionId"] = json!(self.session);
        }
        let text = format!("{order}\0");
        let written = self.orders.borrow_mut().write_all(text.as_bytes());
        written.expect("the browser runs");
        let answer = self.wait(|told| told["id"] == number);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    /// Waits for what the browser tells next and what is wanted. Everything else is kept.
    fn wait(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LONGEST;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let told = self.told.recv_timeout(left).expect("the browser answers");
            if is_wanted(&told) {
                return told;
            }
            self.events.borrow_mut().push(told);
        }
    }

    /// Sets the size of the window and the colours that the user prefers.
    pub fn view(&self, view: View) {
        let size = json!({ "width": view.width, "height": view.height,
            "deviceScaleFactor": 1, "mobile": false });
        self.order("Emulation.setDeviceMetricsOverride", size);
        let value = if view.is_dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        let media = json!({ "features": [feature] });
        self.order("Emulation.setEmulatedMedia", media);
    }

    /// Opens a URL and waits until it is loaded. Forgets what the page before has told.
    pub fn go(&self, url: &str) {
        self.events.borrow_mut().clear();
        self.order("Page.navigate", json!({ "url": url }));
        let is_loaded = |told: &Value| told["method"] == "Page.loadEventFired";
        if !self.events.borrow().iter().any(is_loaded) {
            self.wait(is_loaded);
        }
    }

    /// Evaluates an expression in the page, waits for its promise, and returns the value.
    ///
    /// # Panics
    /// The expression throws.
    pub fn evaluate(&self, expression: &str) -> Value {
        let order = json!({ "expression": expression, "awaitPromise": true,
            "returnByValue": true });
        let told = self.order("Runtime.evaluate", order);
        let thrown = &told["exceptionDetails"];
        assert!(thrown.is_null(), "{thrown}");
        told["result"]["value"].clone()
    }

    /// Evaluates a condition again and again until it is true.
    ///
    /// # Panics
    /// The condition does not become true.
    pub fn await_true(&self, condition: &str) {
        let is_so = || self.evaluate(condition) == true;
        let text = || self.evaluate("document.body.innerText");
        assert!(crate::eventually(LONGEST, is_so), "{condition}: {}", text());
    }

    /// Presses a key, named as in `KeyboardEvent.key`.
    pub fn press(&self, key: &str) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "text": text,
                "windowsVirtualKeyCode": virtual_code(key) });
            self.order("Input.dispatchKeyEvent", event);
        }
    }

    /// Returns what the browser has told since the last [`Browser::go`] under this method.
    pub fn events(&self, method: &str) -> Vec<Value> {
        // A further order brings everything that was told before its answer.
        self.order("Runtime.evaluate", json!({ "expression": "0" }));
        let events = self.events.borrow();
        let of_method = events.iter().filter(|event| event["method"] == method);
        of_method.map(|event| event["params"].clone()).collect()
    }

    /// Returns the errors that the page has caused: exceptions, refused loads, broken policies.
    pub fn errors(&self) -> Vec<String> {
        let thrown = self.events("Runtime.exceptionThrown");
        let logged = self.events("Log.entryAdded");
        let logged = logged.iter().map(|event| &event["entry"]);
        let errors = logged.filter(|entry| entry["level"] == "error");
        let thrown = thrown.iter().map(|event| &event["exceptionDetails"]);
        errors.chain(thrown).map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the messages in a thread, so that a test can stop waiting.
fn read(out: ChildStdout) -> Receiver<Value> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut message = Vec::new();
        while matches!(out.read_until(0, &mut message), Ok(length) if length > 0) {
            message.pop();
            if let Ok(value) = serde_json::from_slice(&message) {
                if give.send(value).is_err() {
                    return;
                }
            }
            message.clear();
        }
    });
    take
}

/// The number of a key, without which Chromium moves no focus.
fn virtual_code(key: &str) -> u32 {
    match key {
        "Tab" => 9,
        "Enter" => 13,
        "Escape" => 27,
        "End" => 35,
        "Home" => 36,
        "ArrowLeft" => 37,
        "ArrowUp" => 38,
        "ArrowRight" => 39,
        "ArrowDown" => 40,
        _ => 0,
    }
}
