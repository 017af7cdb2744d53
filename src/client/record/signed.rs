//! What was signed for an intent: under which nonce, on which rail, for which offer.

use super::{Intent, Quote, Rail};
use crate::attempt::Attempt;
use crate::authorization::Authorization;
use crate::quote::Protocol;

impl Intent {
    /// The offer that an attempt pays.
    pub fn quote_of(&self, attempt: &Attempt) -> Option<&Quote> {
        self.quotes
            .iter()
            .find(|quote| quote.quote_hash == attempt.quote_hash)
    }

    /// Signed attempts under one nonce: all compete for one slot of the token. After a change of rail there are others.
    pub fn siblings(&self, nonce: &[u8; 32]) -> Vec<&Attempt> {
        let signed = |attempt: &&Attempt| attempt.signed_for(nonce).is_some();
        self.attempts.iter().filter(signed).collect()
    }

    /// What was signed on a rail, in the order of time. A challenge and an x402 price are not of one rail: the one dictates its nonce.
    pub fn attempts_on<'a>(&'a self, rail: &'a Rail) -> impl DoubleEndedIterator<Item = &'a Attempt> {
        let there = |attempt: &&Attempt| {
            let signed = &attempt.authorization;
            let quote = self.quote_of(attempt);
            let dictated = quote.is_some_and(|quote| quote.offered.challenge().is_some());
            (signed.asset(), signed.method()) == (rail.asset, rail.method)
                && rail.network.chain_id() == Some(signed.chain_id())
                && dictated == (rail.protocol == Protocol::Mpp)
        };
        self.attempts.iter().filter(there)
    }

    /// The nonce of the `index`th share in this generation, where one was signed for: whatever secret it was derived with, all that is signed for the
    /// intent later competes for it.
    pub fn nonce_on(&self, rail: &Rail, generation: u64, index: u64) -> Option<[u8; 32]> {
        let index = usize::try_from(index).ok()?;
        let mut signed = self
            .attempts_on(rail)
            .filter(|attempt| attempt.generation == generation);
        signed.find_map(|attempt| Some(attempt.slot(index)?.authorization.nonce()))
    }

    /// What those attempts signed for it.
    pub fn signed_for(&self, nonce: &[u8; 32]) -> Vec<Authorization> {
        let signed = self.siblings(nonce).into_iter();
        signed
            .filter_map(|attempt| attempt.signed_for(nonce).cloned())
            .collect()
    }
}
