//! Where spans go: lines in a file as a Collector writes them, and a Collector.
//!
//! A line is a run: it is written when the root span has ended, whole or not at all.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{IdGenerator, SdkTracer, SdkTracerProvider, SpanData, SpanExporter};

use super::seed::draw;
use crate::outbound;
use crate::spans::line::line;

/// `service.name` of the agent.
pub const SERVICE: &str = "taco-trace-demo";
/// The path at which a Collector takes traces.
const TRACES_PATH: &str = "/v1/traces";
/// Longest time of one request to a Collector.
const SEND_TIME: Duration = Duration::from_secs(10);

/// Why a trace could not be kept or sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line could not be written; nothing of it is left.
    #[error("the trace could not be written: {0}")]
    Write(#[source] io::Error),
    /// The address is none of a Collector.
    #[error("no address of a collector: {message}")]
    Endpoint {
        /// What is wrong.
        message: String,
    },
    /// The Collector did not take it.
    #[error("the collector did not take the trace: {message}")]
    Send {
        /// What the exporter says.
        message: String,
    },
}

/// Takes lines.
pub trait Sink: Send {
    /// Adds a line, whole or not at all; `line` ends with a newline.
    ///
    /// # Errors
    /// What the system says.
    fn append(&mut self, line: &str) -> io::Result<()>;
}

/// A file that lines are added to.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
}

impl TraceFile {
    /// Opens a file to add to, and makes it when there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().read(true).append(true).create(true).open(path)? })
    }

    /// Whether what is there ends within a line, as after a crash.
    fn is_cut(&mut self, length: u64) -> bool {
        let mut last = [b'\n'];
        // A pipe or terminal cannot be looked at, and has no earlier line.
        let looked = length > 0
            && self.file.seek(SeekFrom::Start(length - 1)).is_ok()
            && self.file.read_exact(&mut last).is_ok();
        looked && last != [b'\n']
    }
}

impl Sink for TraceFile {
    fn append(&mut self, line: &str) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let length = metadata.len();
        let before = if self.is_cut(length) { "\n" } else { "" };
        let written = self.file.write_all(format!("{before}{line}").as_bytes()).and_then(|()| self.file.flush());
        if written.is_err() && metadata.is_file() {
            // A full disk may have taken a part.
            self.file.set_len(length).ok();
        }
        written
    }
}

/// Lines in memory; clones are the same lines.
#[derive(Debug, Clone, Default)]
pub struct TraceText(Arc<Mutex<String>>);

impl TraceText {
    /// The lines so far.
    #[must_use]
    pub fn text(&self) -> String {
        locked(&self.0).clone()
    }
}

impl Sink for TraceText {
    fn append(&mut self, line: &str) -> io::Result<()> {
        locked(&self.0).push_str(line);
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a [`Telemetry`] is made of.
#[derive(Default)]
pub struct TelemetrySetup {
    /// Where lines go.
    pub lines: Option<Box<dyn Sink>>,
    /// A Collector that speaks OTLP over HTTP: `http://127.0.0.1:4318`.
    pub otlp_endpoint: Option<String>,
    /// Makes the ids; random without one.
    pub seed: Option<u64>,
}

/// The tracer of an agent and where its spans go.
pub struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    failed: Arc<Mutex<Option<io::Error>>>,
    sends: bool,
}

impl Telemetry {
    /// Sets it up. Not to be called within an async runtime.
    ///
    /// # Errors
    /// `Endpoint` when the address of the Collector is none.
    pub fn new(setup: TelemetrySetup) -> Result<Self, TraceError> {
        let resource = Resource::builder_empty()
            .with_attribute(KeyValue::new("service.name", SERVICE))
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("telemetry.sdk.language", "rust"))
            .with_attribute(KeyValue::new("telemetry.sdk.name", "opentelemetry"))
            .build();
        let mut builder = SdkTracerProvider::builder().with_resource(resource);
        if let Some(seed) = setup.seed {
            builder = builder.with_id_generator(SeededIds { seed, next: AtomicU64::new(0) });
        }
        let failed = Arc::new(Mutex::new(None));
        if let Some(sink) = setup.lines {
            builder = builder.with_simple_exporter(Lines {
                sink: Mutex::new(sink),
                waiting: Mutex::new(BTreeMap::new()),
                resource: Resource::builder_empty().build(),
                failed: Arc::clone(&failed),
            });
        }
        let sends = setup.otlp_endpoint.is_some();
        if let Some(endpoint) = setup.otlp_endpoint {
            builder = builder.with_batch_exporter(collector(&endpoint)?);
        }
        let provider = builder.build();
        let scope = InstrumentationScope::builder("taco_trace::demo").with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Self { tracer: provider.tracer_with_scope(scope), provider, failed, sends })
    }

    pub(super) fn tracer(&self) -> &SdkTracer {
        &self.tracer
    }

    /// To be called when the root span of a run has ended: whether its trace is where it should be.
    pub(super) fn settle(&self) -> Result<(), TraceError> {
        if let Some(error) = locked(&self.failed).take() {
            return Err(TraceError::Write(error));
        }
        if self.sends {
            self.provider.force_flush().map_err(|error| TraceError::Send { message: inner(&error.to_string()) })?;
        }
        Ok(())
    }
}

/// What the exporter says, without what the SDK packs around it.
fn inner(message: &str) -> String {
    let said = message.split_once("InternalFailure(\"").and_then(|(_, rest)| rest.split_once("\")"));
    said.map_or(message, |(said, _)| said).to_owned()
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.provider.shutdown().ok();
    }
}

/// An exporter to a Collector.
fn collector(endpoint: &str) -> Result<opentelemetry_otlp::SpanExporter, TraceError> {
    let wrong = |message: String| TraceError::Endpoint { message };
    let mut url = reqwest::Url::parse(endpoint).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("{}: http or https", url.scheme())));
    }
    if matches!(url.path(), "" | "/") {
        url.set_path(TRACES_PATH);
    }
    let client = outbound::client(url.scheme() == "https")
        .timeout(SEND_TIME)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_http_client(client)
        .with_endpoint(url.as_str())
        .with_timeout(SEND_TIME)
        .build()
        .map_err(|error| wrong(error.to_string()))
}

/// Ids that follow from a seed.
#[derive(Debug)]
struct SeededIds {
    seed: u64,
    next: AtomicU64,
}

impl SeededIds {
    fn draw(&self, kind: &str) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // 0 is no id.
        draw(self.seed, &[kind, &number.to_string()]).max(1)
    }
}

impl IdGenerator for SeededIds {
    fn new_trace_id(&self) -> TraceId {
        TraceId::from(u128::from(self.draw("trace")) << 64 | u128::from(self.draw("trace")))
    }

    fn new_span_id(&self) -> SpanId {
        SpanId::from(self.draw("span"))
    }
}

/// Writes the spans of a run as a line when its root span ends, which is the last of them.
struct Lines {
    sink: Mutex<Box<dyn Sink>>,
    waiting: Mutex<BTreeMap<[u8; 16], Vec<SpanData>>>,
    resource: Resource,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Lines")
    }
}

impl SpanExporter for Lines {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            let trace = span.span_context.trace_id().to_bytes();
            let is_root = span.parent_span_id == SpanId::INVALID;
            let mut waiting = locked(&self.waiting);
            waiting.entry(trace).or_default().push(span);
            let Some(spans) = is_root.then(|| waiting.remove(&trace)).flatten() else { continue };
            drop(waiting);
            let text = line(spans, &self.resource) + "\n";
            if let Err(error) = locked(&self.sink).append(&text) {
                let message = error.to_string();
                *locked(&self.failed) = Some(error);
                return Err(OTelSdkError::InternalFailure(message));
            }
        }
        Ok(())
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.clone();
    }
}
