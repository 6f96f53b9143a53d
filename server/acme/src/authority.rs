//! Speaks to the authority: the account, and one order for each certificate.

use crate::client::Client;
use crate::message::{is_token, Proof, Reason};
use crate::store::{self, Store};
use crate::{certificate, Error};
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, Problem, RetryPolicy, RevocationReason, RevocationRequest,
};
use mehari_config::{Authority, ChallengeKind, ManagedDomain};
use rustls::pki_types::CertificateDer;
use std::time::Duration;

/// How long the authority may take to check the names, and to sign.
const PATIENCE: Duration = Duration::from_secs(120);
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";
const ALREADY_REVOKED: &str = "urn:ietf:params:acme:error:alreadyRevoked";

/// Puts proofs where the authority looks for them, and returns when they are in place.
pub trait Prover {
    async fn prove(&mut self, proofs: Vec<Proof>) -> Result<(), Error>;
}

/// Requests a certificate. Returns key and chain in PEM. The account in the store is used; if there
/// is none, or if the authority does not know it any more, a new account is made.
pub async fn obtain(
    authority: &Authority,
    store: &Store,
    domain: &ManagedDomain,
    kind: ChallengeKind,
    prover: &mut impl Prover,
) -> Result<String, Error> {
    let names = domain.names.iter().cloned().map(Identifier::Dns);
    let names: Vec<Identifier> = names.collect();
    let account = account(authority, store, false).await?;
    let order = match account.new_order(&NewOrder::new(&names)).await {
        Err(instant_acme::Error::Api(problem)) if is(&problem, NO_ACCOUNT) => {
            let account = self::account(authority, store, true).await?;
            account.new_order(&NewOrder::new(&names)).await
        }
        order => order,
    };
    let mut order = order?;
    let done = fulfil(&mut order, domain, kind, prover).await;
    let withdrawn = prover.prove(Vec::new()).await;
    let pem = done?;
    withdrawn?;
    Ok(pem)
}

/// Revokes a certificate, given in DER. A certificate that is revoked already is a success.
pub async fn revoke(
    authority: &Authority,
    store: &Store,
    certificate: &[u8],
    reason: Reason,
) -> Result<(), Error> {
    let certificate = CertificateDer::from(certificate);
    let request = RevocationRequest {
        certificate: &certificate,
        reason: Some(reason_of(reason)),
    };
    let account = account(authority, store, false).await?;
    let revoked = match account.revoke(&request).await {
        Err(instant_acme::Error::Api(problem)) if is(&problem, NO_ACCOUNT) => {
            let account = self::account(authority, store, true).await?;
            account.revoke(&request).await
        }
        revoked => revoked,
    };
    match revoked {
        Err(instant_acme::Error::Api(problem)) if is(&problem, ALREADY_REVOKED) => Ok(()),
        revoked => Ok(revoked?),
    }
}

fn is(problem: &Problem, kind: &str) -> bool {
    problem.r#type.as_deref() == Some(kind)
}

async fn account(authority: &Authority, store: &Store, is_lost: bool) -> Result<Account, Error> {
    let _lock = store.lock("account").await?;
    let file = store.account(&authority.directory);
    let client = Client::new(authority.roots.as_deref())?;
    let builder = Account::builder_with_http(Box::new(client));
    let known = store::read(&file)?;
    let known = known.and_then(|text| serde_json::from_str::<AccountCredentials>(&text).ok());
    if let (Some(credentials), false) = (known, is_lost) {
        return Ok(builder.from_credentials(credentials).await?);
    }
    let contact = authority.contact.as_ref().map(|to| format!("mailto:{to}"));
    let contact: Vec<&str> = contact.as_deref().into_iter().collect();
    let wanted = NewAccount {
        contact: &contact,
        terms_of_service_agreed: authority.is_agreed,
        only_return_existing: false,
    };
    let directory = authority.directory.clone();
    let (account, credentials) = builder.create(&wanted, directory, None).await?;
    let text = serde_json::to_string(&credentials);
    let text = text.map_err(|error| Error::Made(error.to_string()))?;
    store::write(&file, &text)?;
    Ok(account)
}

async fn fulfil(
    order: &mut Order,
    domain: &ManagedDomain,
    kind: ChallengeKind,
    prover: &mut impl Prover,
) -> Result<String, Error> {
    let policy = RetryPolicy::new().timeout(PATIENCE);
    let proofs = proofs(order, kind).await?;
    if !proofs.is_empty() {
        prover.prove(proofs).await?;
    }
    // The authority may have rejected a name before it answers that it begins to check.
    let status = match begin_checks(order, kind).await {
        Ok(()) => order.poll_ready(&policy).await.map_err(Error::from),
        Err(error) => Err(error),
    };
    if !matches!(status, Ok(OrderStatus::Ready)) {
        if let Some(reason) = rejection(order, kind).await {
            return Err(Error::Authority(reason));
        }
        status?;
        return Err(Error::Authority("the authority rejects the order".into()));
    }
    let key = certificate::key(domain.settings.key.unwrap_or_default())?;
    let request = certificate::request(&domain.names, &key)?;
    order.finalize_csr(&request).await?;
    let chain = order.poll_certificate(&policy).await?;
    Ok(key.serialize_pem() + &chain)
}

/// Asks the authority to check all names that it has not checked yet.
async fn begin_checks(order: &mut Order, kind: ChallengeKind) -> Result<(), Error> {
    let mut all = order.authorizations();
    while let Some(one) = all.next().await {
        let mut one = one?;
        if one.status == AuthorizationStatus::Pending {
            let challenge = one.challenge(type_of(kind));
            challenge
                .ok_or_else(|| not_offered(kind))?
                .set_ready()
                .await?;
        }
    }
    Ok(())
}

/// Makes the proofs of all names that the authority has not checked yet.
async fn proofs(order: &mut Order, kind: ChallengeKind) -> Result<Vec<Proof>, Error> {
    let mut proofs = Vec::new();
    let mut all = order.authorizations();
    while let Some(one) = all.next().await {
        let mut one = one?;
        if one.status != AuthorizationStatus::Pending {
            continue;
        }
        let challenge = one.challenge(type_of(kind));
        let challenge = challenge.ok_or_else(|| not_offered(kind))?;
        if !is_token(&challenge.token) {
            let text = "the authority's token does not have the syntax of RFC 8555";
            return Err(Error::Authority(text.into()));
        }
        let answer = challenge.key_authorization();
        proofs.push(match kind {
            ChallengeKind::Http => Proof::Http {
                token: challenge.token.clone(),
                answer: answer.as_str().to_owned(),
            },
            ChallengeKind::TlsAlpn => {
                let name = challenge.identifier().to_string();
                let pem = certificate::proof(&name, answer.digest().as_ref())?;
                Proof::TlsAlpn { name, pem }
            }
        });
    }
    Ok(proofs)
}

/// Returns why the authority rejects a name.
async fn rejection(order: &mut Order, kind: ChallengeKind) -> Option<String> {
    let mut all = order.authorizations();
    while let Some(Ok(mut one)) = all.next().await {
        if one.refresh().await.is_err() {
            continue;
        }
        let name = one.identifier().to_string();
        let mut challenges = one.challenges.iter();
        if let Some(problem) = challenges.find_map(|one| one.error.as_ref()) {
            let text = format!("{name} by {}: {problem}", kind.name());
            return Some(crate::message::one_line(&text));
        }
    }
    None
}

fn type_of(kind: ChallengeKind) -> ChallengeType {
    match kind {
        ChallengeKind::Http => ChallengeType::Http01,
        ChallengeKind::TlsAlpn => ChallengeType::TlsAlpn01,
    }
}

fn reason_of(reason: Reason) -> RevocationReason {
    match reason {
        Reason::Unspecified => RevocationReason::Unspecified,
        Reason::KeyCompromise => RevocationReason::KeyCompromise,
        Reason::AffiliationChanged => RevocationReason::AffiliationChanged,
        Reason::Superseded => RevocationReason::Superseded,
        Reason::CessationOfOperation => RevocationReason::CessationOfOperation,
    }
}

fn not_offered(kind: ChallengeKind) -> Error {
    Error::Authority(format!("the authority does not offer {}", kind.name()))
}
