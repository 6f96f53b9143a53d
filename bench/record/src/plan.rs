//! Defines the plan of a run as a record holds it: in words for people, in fields for programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The plan of a run. Fields that do not apply are `None` or empty. The file leaves out such
/// fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// For example `32 connections, closed loop, 10 s, GET http://127.0.0.1:8080/`.
    pub words: String,
    pub urls: Vec<String>,
    pub method: String,
    /// `closed`, `open` or `sessions`.
    pub schedule: String,
    /// `constant` or `poisson`; open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Requests per second; open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// The most connections open at once.
    pub connections: u64,
    pub threads: u64,
    /// The number of requests after which the run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The number of seconds after which the run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    pub warm_up_seconds: f64,
    /// The time-out: a request without an answer within this time fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// `http/1.0`, `http/1.1` or `h2`.
    pub protocol: String,
    pub tls: bool,
    pub keep_alive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_seconds: Option<f64>,
    /// The most bytes per second that a connection reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<f64>,
    /// The seed of the arrivals. Equal seeds give equal arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// All other options by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// A part of an open-loop run, in which the rate moves linearly from `from` to `to` requests per
/// second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub seconds: f64,
    pub from: f64,
    pub to: f64,
}
