//! One error type and the registry of its codes.
//!
//! A code is permanent. An error carries the code and the path of the field at fault; never the input's text and never a
//! secret. `meaning`, `next` and `money` belong to the code and stand here once: hosts, the page and the manual read them
//! from this table.

use core::fmt;
use core::ops::Deref;

/// What is safe to do now. One action each, no free choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Correct the input named by the field and call again.
    FixInput,
    /// Ask the seller for a new quote.
    Requote,
    /// Send exactly the journalled bytes again.
    ResendSame,
    /// Do nothing until the time given.
    Wait,
    /// Read the chain by payer and nonce.
    ReadChain,
    /// Read the seller's order.
    ReadOrder,
    /// Look the receipt up by its retry id.
    LookupReceipt,
    /// Hold the claim: paid, not delivered.
    Claim,
    /// Every earlier authorization is proven dead.
    SafeToResign,
    /// A person decides.
    AskHuman,
    /// Nothing more is to be done automatically.
    Stop,
}

impl Next {
    /// Every action there is.
    pub const ALL: [Next; 11] = [
        Next::FixInput,
        Next::Requote,
        Next::ResendSame,
        Next::Wait,
        Next::ReadChain,
        Next::ReadOrder,
        Next::LookupReceipt,
        Next::Claim,
        Next::SafeToResign,
        Next::AskHuman,
        Next::Stop,
    ];

    /// Reads the text used on every boundary.
    pub fn parse(text: &str) -> Option<Next> {
        Next::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// One plain sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Next::FixInput => "Correct what the field names, and call again.",
            Next::Requote => "Ask the seller for a new price.",
            Next::ResendSame => "Make the same call again: exactly the journalled bytes are sent.",
            Next::Wait => "Do nothing until the time given, then make the same call again.",
            Next::ReadChain => {
                "Read the chain by payer and nonce; nothing else tells what became of the money."
            }
            Next::ReadOrder => "Ask the seller how the order stands before anything else.",
            Next::LookupReceipt => "Look the receipt up: the answer is past, the proof is not.",
            Next::Claim => "Hold the claim: it was paid for, and nothing came.",
            Next::SafeToResign => "Make the same call again: every earlier authorization is proven dead.",
            Next::AskHuman => "Ask a person; nothing is decided here.",
            Next::Stop => "Do nothing more automatically.",
        }
    }

    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Next::FixInput => "fix_input",
            Next::Requote => "requote",
            Next::ResendSame => "resend_same",
            Next::Wait => "wait",
            Next::ReadChain => "read_chain",
            Next::ReadOrder => "read_order",
            Next::LookupReceipt => "lookup_receipt",
            Next::Claim => "claim",
            Next::SafeToResign => "safe_to_resign",
            Next::AskHuman => "ask_human",
            Next::Stop => "stop",
        }
    }
}

/// What is known about the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Money {
    /// Nothing can have moved.
    None,
    /// A transfer may have happened or may still happen.
    Possible,
    /// One transfer is proven.
    Proven,
    /// More than one transfer is proven.
    ProvenTwice,
}

impl Money {
    /// Everything that can be known.
    pub const ALL: [Money; 4] = [Money::None, Money::Possible, Money::Proven, Money::ProvenTwice];

    /// Reads the text used on every boundary.
    pub fn parse(text: &str) -> Option<Money> {
        Money::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// One plain sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Money::None => "Nothing can have moved.",
            Money::Possible => "A transfer may have happened, or may still happen.",
            Money::Proven => "One transfer is proven.",
            Money::ProvenTwice => "More than one transfer is proven.",
        }
    }

    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Money::None => "none",
            Money::Possible => "possible",
            Money::Proven => "proven",
            Money::ProvenTwice => "proven_twice",
        }
    }
}

macro_rules! registry {
    ($($variant:ident $text:literal $next:ident $money:ident $meaning:literal;)*) => {
        /// Every code there is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $meaning] $variant,)* }

        impl Code {
            /// The registry in its order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The permanent text of the code.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// What is safe to do now.
            pub const fn next(self) -> Next {
                match self { $(Code::$variant => Next::$next,)* }
            }

            /// What is known about the money when nothing more is said.
            pub const fn money(self) -> Money {
                match self { $(Code::$variant => Money::$money,)* }
            }

            /// One plain sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* }
            }
        }
    };
}

registry! {
    // values and codecs
    InvalidType "invalid_type" FixInput None "A value has another JSON type than the field demands.";
    MissingField "missing_field" FixInput None "A required field is absent.";
    UnknownCall "unknown_call" FixInput None "There is no function of this name.";
    TooLarge "too_large" FixInput None "The input is larger than its limit.";
    HexInvalid "hex_invalid" FixInput None "Not 0x followed by an even number of hexadecimal digits, or of the wrong length.";
    Base64Invalid "base64_invalid" FixInput None "Not one valid base64 text.";
    JsonInvalid "json_invalid" FixInput None "Not a JSON text.";
    JsonTooDeep "json_too_deep" FixInput None "The JSON text is nested deeper than 64 levels.";
    DuplicateKey "duplicate_key" FixInput None "A JSON object names one member twice.";
    LoneSurrogate "lone_surrogate" FixInput None "A JSON string holds half of a surrogate pair.";
    NumberOutOfRange "number_out_of_range" FixInput None "A JSON number overflows, or is an integer that a double does not carry unchanged.";
    CyclicInput "cyclic_input" FixInput None "The value refers to itself and has no JSON text.";
    AmountInvalid "amount_invalid" FixInput None "Not a decimal text of atomic units from 0 to 2^256-1 without sign or leading zeros.";
    AmountMustBeString "amount_must_be_string" FixInput None "An amount is a JSON number; only decimal text carries it exactly.";
    AddressInvalid "address_invalid" FixInput None "Not 0x followed by 40 hexadecimal digits.";
    AddressChecksum "address_checksum" FixInput None "A mixed-case address whose EIP-55 checksum is wrong.";
    NetworkInvalid "network_invalid" FixInput None "Not a CAIP-2 network, or an unknown version 1 name.";
    TimeInvalid "time_invalid" FixInput None "Not a whole number of Unix seconds in range.";
    UrlInvalid "url_invalid" FixInput None "Not an absolute http or https URL, or one that carries credentials.";
    MethodInvalid "method_invalid" FixInput None "Not an HTTP method token.";
    PointerInvalid "pointer_invalid" FixInput None "Not a JSON Pointer, or one of more than 1024 bytes or 64 tokens.";
    ProtectedField "protected_field" FixInput None "A field that says what is paid to whom for what can't be left out of a key.";
    // cryptography
    TypedDataInvalid "typed_data_invalid" FixInput None "The EIP-712 document is not well formed.";
    PrivateKeyInvalid "private_key_invalid" FixInput None "The private key is not 32 bytes between 1 and the group order.";
    SignatureInvalid "signature_invalid" FixInput None "Not a 65-byte low-s signature that recovers to an address.";
    PublicKeyInvalid "public_key_invalid" FixInput None "Not a point on secp256k1.";
    JwkInvalid "jwk_invalid" FixInput None "Not a public key of a known algorithm, or one that is not for checking signatures.";
    JwsInvalid "jws_invalid" FixInput None "Not a compact JWS of a known algorithm with the id of its key, or one whose header asks for what is never done.";
    DidInvalid "did_invalid" FixInput None "Not a decentralised identifier, its document or a record of controllers, as far as they are read.";
    ContractSignature "contract_signature" ReadChain None "A contract wallet's signature, which only the chain can check.";
    SignerMismatch "signer_mismatch" Stop None "The signature was made by another key than the one named.";
    NonceInvalid "nonce_invalid" FixInput None "The nonce is not 32 bytes, or is all zero.";
    Permit2Unsupported "permit2_unsupported" Stop Possible "This is not there for a purchase by Permit2: it takes no cancellation by signature.";
    SpenderUnknown "spender_unknown" Stop None "The permit lets another contract spend than the one that settles x402 payments.";
    DomainMismatch "domain_mismatch_known_asset" Stop None "The offer names another EIP-712 domain than the token is known to have.";
    SecretInvalid "secret_invalid" FixInput None "The secret is shorter than 16 bytes or longer than 64.";
    // x402 messages
    PaymentRequiredInvalid "payment_required_invalid" Requote None "The 402 answer is not a well-formed x402 price.";
    PaymentPayloadInvalid "payment_payload_invalid" FixInput None "Not a well-formed x402 payment.";
    SettlementInvalid "settlement_invalid" ReadChain Possible "Not a well-formed x402 settlement response.";
    UnsupportedVersion "unsupported_version" Stop None "A version that is not known here.";
    PaymentIdInvalid "payment_id_invalid" FixInput None "Not 16 to 128 characters of A-Z, a-z, 0-9, underscore and hyphen.";
    // messages of the Payment HTTP scheme
    ChallengeInvalid "challenge_invalid" Requote None "Not a well-formed Payment challenge.";
    TransactionInvalid "transaction_invalid" FixInput None "Not a signed Tempo transaction in its one encoding.";
    TransactionDiffers "transaction_differs" Stop None "The Tempo transaction does something else than pay this challenge, or not only that.";
    ChallengeExpired "challenge_expired" Requote None "The Payment challenge has expired; nothing was sent for it.";
    ChallengeChanged "challenge_changed" Stop Possible "A Payment challenge came back under the same id with other terms.";
    CredentialInvalid "credential_invalid" FixInput None "Not a well-formed Payment credential.";
    TransportInsecure "transport_insecure" Stop None "A Payment credential travels over TLS only; this URL is http and of another machine.";
    MppUnsupported "mpp_unsupported" Stop Possible "This is not there for a purchase by the Payment scheme: it is not handed over, and on Tempo there is no claim file for one whose journal was lost.";
    EndsByItself "ends_by_itself" Wait Possible "A transaction on Tempo is not cancelled: it ends by itself, seconds to minutes after it was signed. What became of it can be read then.";
    // quote and policy
    NoSupportedOption "no_supported_payment_option" Stop None "No offer is on a network, asset and scheme that the policy allows.";
    SplitUnsupported "split_unsupported" Stop None "The offer asks for a split payment in a form that is not known here; or it is a claim about a split payment whose signatures are not in this journal.";
    SplitInvalid "split_invalid" Stop None "A part of the split payment is zero, or the parts do not add up to the price.";
    UnknownAsset "unknown_asset" Stop None "The token is not on the list of known assets.";
    RecipientForbidden "recipient_forbidden" Stop None "The recipient is zero, the token, the payer, a known burn address or not on the list.";
    TimeoutInvalid "timeout_invalid" Requote None "maxTimeoutSeconds is not a positive whole number.";
    OverCap "over_cap" AskHuman None "The price is above the cap for one call.";
    OverWalletCap "over_wallet_cap" AskHuman None "With what is spent or still unknown, the price passes the wallet's cap.";
    OverRecipientCap "over_recipient_cap" AskHuman None "With what is spent or still unknown, a recipient would have more than the cap for one.";
    OverBudget "over_budget" AskHuman None "With what its tree spent or still holds, the price passes a budget above the intent, or is of another token than that budget.";
    PolicyMissing "policy_missing" FixInput None "There is neither a cap nor an approval, and the default refuses.";
    PolicyInvalid "policy_invalid" FixInput None "The policy is not well formed.";
    ApprovalDenied "approval_denied" Stop None "The approval was asked for and not given.";
    ApprovalNeeded "approval_needed" AskHuman None "A person has to approve this: the request is written down and waits for a signed answer.";
    ApprovalInvalid "approval_invalid" FixInput None "Not an approval in its one form, or one that is over before it begins.";
    ApprovalAltered "approval_altered" Stop None "The approval has another hash than it names.";
    ApprovalUntrusted "approval_untrusted" Stop None "The approval is not signed by one of the approvers.";
    ApprovalOtherPayer "approval_other_payer" Stop None "The approval is about another payer's money.";
    ApprovalExpired "approval_expired" AskHuman None "The time of the approval is over.";
    ApprovalReplayed "approval_replayed" Stop None "The request was answered before.";
    ApprovalOtherRequest "approval_other_request" Stop None "The approval answers a request that does not stand here.";
    ApprovalOtherIntent "approval_other_intent" Stop None "The approval is for an intent that this request does not belong to.";
    ApprovalExceeded "approval_exceeded" AskHuman None "The approval is of another token, or for less than the price, or what is left of it is.";
    ChainMismatch "chain_mismatch" Stop None "The RPC endpoint serves another chain than the offer names.";
    AttemptsExhausted "attempts_exhausted" AskHuman Possible "The number of signatures allowed for one intent is used up.";
    // intent and attempt
    IntentIdInvalid "intent_id_invalid" FixInput None "An explicit intent id has fewer than 16 or more than 256 characters.";
    IntentConflict "intent_conflict" Stop None "The same intent id was used for another request.";
    IntentExpired "intent_expired" Stop None "The time of the intent, or of one above it, is over; nothing was signed.";
    BadLineage "bad_lineage" Stop None "The parent is not known here, is of another tree or below itself, or the tree is too deep.";
    LineageWider "lineage_wider" FixInput None "A child can narrow the budget, the recipients and the time of what is above it, and not widen them.";
    IntentReleased "intent_released" Stop None "This purchase was released and is not tried again.";
    TermsChanged "terms_changed" Stop Possible "The seller changed amount, recipient or asset while an earlier authorization can still land.";
    RailChanged "rail_changed" Stop Possible "The intent is pinned to another payer, network, asset or method.";
    RailNotProvable "rail_not_provable" Stop None "With trusted blocks alone nothing could be proven of this rail, neither payment nor death; nothing was signed.";
    SignerFailed "signer_failed" ResendSame None "The signer did not return a signature; nothing was sent.";
    ExpiredBeforeSend "expired_before_send" ResendSame None "The signer took longer than the authorization's window; nothing was sent.";
    RequestBodyUnsupported "request_body_unsupported" FixInput None "The request's body was read before and can't be sent.";
    Redirected "redirected" FixInput None "The price came from another URL than the one asked; no payment is sent there. Call that URL itself.";
    Aborted "aborted" Stop None "The caller gave up before anything was sent.";
    AnswerNotStored "answer_not_stored" LookupReceipt Proven "Delivered before; the answer was too large to keep, only its digest is.";
    StateInvalid "state_invalid" FixInput None "The client state or event is not well formed or does not fit.";
    // outcomes that end a call
    OutcomeUnknown "outcome_unknown" Wait Possible "The payment was sent and its outcome is not known yet.";
    PaymentRejected "payment_rejected" Wait Possible "The seller refused the payment but still holds an authorization that can land.";
    PaidNotDelivered "paid_not_delivered" Claim Proven "The money moved and the answer could not be had.";
    PaidWrongTerms "paid_wrong_terms" AskHuman Proven "A transfer happened under this nonce on other terms than signed.";
    PartlyPaid "partly_paid" AskHuman Proven "Of a split payment one part moved, and another never can.";
    AuthorizationUsed "authorization_used" Claim Proven "The nonce of this intent was used before this journal began.";
    SettlementDiffers "settlement_differs" AskHuman Proven "The settlement response names another amount than the chain shows, or another payment than the one it answers.";
    UsedOrCancelled "used_or_cancelled" ReadChain Possible "The nonce is used or cancelled and no log tells which.";
    EvidenceUnreadable "evidence_unreadable" ReadChain Possible "The chain could not be read, or sources disagree.";
    PaymentInFlight "payment_in_flight" Wait Possible "The seller is still working on this payment.";
    PaymentConflict "payment_identifier_conflict" Stop Possible "The seller holds another request under this payment id.";
    BodyTruncated "body_truncated" ResendSame Proven "The answer ended before its stated length.";
    // what is done about an open or a lost purchase
    IntentUnknown "intent_unknown" FixInput None "The journal holds no intent of this id.";
    ClaimDelivered "claim_delivered" Stop Proven "The answer was delivered: there is nothing to claim.";
    ClaimUnpaid "claim_unpaid" Stop None "Nothing was paid for this intent: there is nothing to claim.";
    NothingToCancel "nothing_to_cancel" Stop None "No authorization of this intent is open that a cancellation could stop.";
    // between workers
    ActorInvalid "actor_invalid" FixInput None "An actor's name is empty, longer than 128 characters, or the giver's own.";
    IntentHandedOver "intent_handed_over" Stop None "The intent was handed over: another actor signs for it, or this one has not taken it yet.";
    HandOverPaid "hand_over_paid" Stop Proven "The intent is paid: there is nothing to hand over.";
    HandOverUnread "hand_over_unread" FixInput Possible "An authorization may still land, and there is no RPC endpoint to read its network by.";
    HandOverStale "hand_over_stale" ReadChain Possible "What was read of an open authorization is too old to hand the intent over by.";
    HandOverWider "hand_over_wider" FixInput None "A hand-over can narrow a budget and not widen it.";
    HandOverInvalid "hand_over_invalid" FixInput None "Not a hand-over in its one form, or one that contradicts itself.";
    HandOverAltered "hand_over_altered" Stop None "The hand-over has another hash than it names.";
    HandOverOtherPayer "hand_over_other_payer" Stop None "The hand-over is about another payer's intent.";
    HandOverOtherActor "hand_over_other_actor" Stop None "The hand-over is for another actor.";
    HandOverOtherSecret "hand_over_other_secret" Stop None "The giver derives another nonce for this intent: the secrets differ.";
    HandOverExpired "hand_over_expired" Stop None "The hand-over can't be taken any more.";
    HandOverUntrusted "hand_over_untrusted" Stop None "The hand-over is neither in this journal nor signed by the payer or a known writer.";
    HandOverTaken "hand_over_taken" Stop None "The hand-over was taken before.";
    HandOverReplayed "hand_over_replayed" Stop None "The intent was handed over again since, or was not the giver's.";
    HandOverUnproven "hand_over_unproven" ReadChain Possible "A nonce that the hand-over passes over is not cancelled on the chain for good.";
    // journal
    JournalCorrupt "journal_corrupt" AskHuman Possible "A journal record inside the file is damaged or out of the chain.";
    JournalUnavailable "journal_unavailable" FixInput None "The journal could not be written; nothing was sent.";
    JournalLocked "journal_locked" Wait None "Another process holds this journal.";
    JournalUnknown "journal_unknown" Wait Possible "The journal's answer to a write was lost; the write may stand.";
    IntentInFlight "intent_in_flight" Wait Possible "Another worker is at this purchase.";
    JournalConflict "journal_conflict" Wait Possible "Another worker changed the record in between.";
    JournalClosed "journal_closed" FixInput None "The journal was closed.";
    // the store of a gateway
    AnswerExpired "answer_expired" LookupReceipt Proven "Delivered before; the answer is past its retention, its receipt is not.";
    NotFound "not_found" Stop None "There is nothing at this address, or nothing for whoever asks.";
    RefundOwed "refund_owed" AskHuman ProvenTwice "More than one transfer was made for one purchase: one is owed back.";
    StoreUnavailable "store_unavailable" Wait Possible "The gateway's store could not be used or did not confirm; whether the change is kept is not known.";
    // selling
    RecordInvalid "record_invalid" FixInput None "The admission record is not well formed, or is in no state to take over.";
    LeaseInvalid "lease_invalid" FixInput None "The lease is not a whole number of seconds from 1 to 86400.";
    PollInvalid "poll_invalid" FixInput None "Not a path of this origin, nor the name of a tool.";
    OrderInvalid "order_invalid" FixInput None "The order is in a state that is not known here.";
    OrderEventInvalid "order_event_invalid" FixInput None "The order's event is not known here, or says what can't be.";
    OrderMoveIllegal "order_move_illegal" ReadOrder Possible "The order's state does not allow this event; nothing moved.";
    LateRuleMissing "late_rule_missing" FixInput Proven "A payment landed after its order was closed, and no rule says whether to fulfil or to refund; nothing moved.";
    QuoteAlreadyPaying "quote_already_paying" Wait Possible "A payment for this quote is on its way.";
    QuoteNotOpen "quote_not_open" ReadOrder Possible "The order was paid or called off and takes no payment.";
    QuoteExpired "quote_expired" Requote Possible "The quote is over; this payment was not broadcast.";
    // findings
    CanonicalizationMissedField "canonicalization_missed_field" FixInput Possible "Calls that one key should cover, or one key with other arguments: the rule of the tool misses a field.";
    DuplicateCharge "duplicate_charge" AskHuman ProvenTwice "Money moved twice for one purchase; the second transfer is owed back.";
    TransactionClaimedTwice "transaction_claimed_twice" ReadChain Possible "Two payments name one transaction, and no reads show a transfer for each.";
    LateConfirmation "late_confirmation" Claim Proven "A transfer landed after its attempt was called dead or refused.";
    RefundUnproven "refund_unproven" ReadChain Proven "No final transfer to the payer that is left to count shows that this money went back.";
    SettlementVanished "settlement_vanished" Stop None "The seller said that it was paid, and the chain proves that it was not and can't be any more: the block was replaced, or the word was wrong.";
    PaymentVanished "payment_vanished" Wait Possible "A payment that was seen on the chain is gone, for its block was replaced; it may land again.";
    AuthorizationClaimedTwice "authorization_claimed_twice" ReadChain Possible "Receipts name different transactions for one authorization, or several receipts are for it; it can be used once only.";
    ReceiptRepeated "receipt_repeated" FixInput Possible "One receipt stands in the set more than once; there is one payment, and the sums count every line.";
    ResponseShared "response_shared" AskHuman Possible "Receipts of different payments name one and the same answer.";
    QuotesAccumulating "quotes_accumulating" ReadOrder Possible "One open intent holds several offers that can still be paid.";
    DriftRefused "drift_refused" AskHuman None "The call drifts from what was paid for so far, in the way that the field names, and the policy does not let it pass unasked.";
    DriftNearRepeat "drift_near_repeat" AskHuman Possible "A call that is the same but for its wording was paid for while an earlier one was still open.";
    DriftNewRecipient "drift_new_recipient" AskHuman Possible "An operation that paid one recipient so far paid another.";
    DriftPriceStep "drift_price_step" AskHuman Possible "An operation cost more than twice what it ever cost.";
    DriftCapApproach "drift_cap_approach" AskHuman Possible "Many small children have used up nine tenths of a budget.";
    DriftOtherActor "drift_other_actor" AskHuman Possible "Below one intent a second actor paid, and nothing was handed over.";
    DriftSplit "drift_split" AskHuman Possible "Several payments to one recipient stayed just below what a person is asked for.";
    // verification
    ProofMalformed "proof_malformed" ReadChain Possible "A node of the proof, or what the trie holds, is not in its one canonical encoding.";
    ProofRootMismatch "proof_root_mismatch" ReadChain Possible "The proof starts at another root than the one that is trusted.";
    ProofNodeMismatch "proof_node_mismatch" ReadChain Possible "A node of the proof is not the one that the node before it names.";
    ProofIncomplete "proof_incomplete" ReadChain Possible "The proof ends before it answers.";
    ProofTooLong "proof_too_long" ReadChain Possible "The proof goes on after it has answered, or is longer than its key allows.";
    HeaderInvalid "header_invalid" ReadChain Possible "Not the header of a block.";
    HeaderHashMismatch "header_hash_mismatch" ReadChain Possible "The header's members give another hash than it names, or the chain's headers have members that are not known here.";
    UnsupportedReceiptType "unsupported_receipt_type" ReadChain Possible "A receipt of a type that is not known here; it is not called forged.";
    ReceiptInvalid "receipt_invalid" FixInput None "Not a receipt or bundle of a known profile.";
    InputUnreadable "input_unreadable" FixInput Possible "An input could not be read to its end; what stands behind was not judged.";
    ResponseUnreadable "response_unreadable" FixInput Possible "The answer that was named could not be read.";
    ProfileInvalid "profile_invalid" FixInput None "Not a description of a receipt's form, or one whose members are not covered by its signature.";
    NotLoaded "not_loaded" FixInput None "The WebAssembly module is not loaded yet; await load() first.";
    InternalError "internal_error" AskHuman Possible "The core stopped in the middle; the input was not judged.";
}

/// An error: a code and the field at fault, nothing of the input.
///
/// One pointer: nearly every function gives one or something else, and carrying more around was a sixth of the WebAssembly module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Error(Box<What>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct What {
    /// The permanent code.
    pub code: Code,
    /// Path of the field in the input, such as `authorization.validBefore`; empty when the whole input is meant.
    pub field: String,
}

impl Deref for Error {
    type Target = What;

    fn deref(&self) -> &What {
        &self.0
    }
}

impl Error {
    /// An error at a field.
    pub fn new(code: Code, field: impl AsRef<str>) -> Self {
        Error::at(code, field.as_ref())
    }

    #[inline(never)]
    fn at(code: Code, field: &str) -> Self {
        let field = field.to_owned();
        Error(Box::new(What { code, field }))
    }

    /// Another code for the same place.
    pub fn with_code(mut self, code: Code) -> Self {
        self.0.code = code;
        self
    }

    /// The same error, its field placed below an item of a list.
    #[inline(never)]
    pub fn within_item(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }

    /// The same error, its field placed below `parent`.
    #[inline(never)]
    pub fn within(mut self, parent: &str) -> Self {
        if !self.field.is_empty() && !self.field.starts_with('[') {
            self.0.field.insert(0, '.');
        }
        self.0.field.insert_str(0, parent);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "{}: {}", self.code.as_str(), self.code.meaning())
        } else {
            write!(
                f,
                "{}: {} ({})",
                self.code.as_str(),
                self.code.meaning(),
                self.field
            )
        }
    }
}

impl std::error::Error for Error {}
