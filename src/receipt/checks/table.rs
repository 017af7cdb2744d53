//! What every check is called, and what it means that it passed.

/// Every check there is: its permanent id, its title, and what a pass says.
pub(super) const TABLE: &[(&str, &str, &str)] = &[
    (
        "format",
        "The document is well formed",
        "Every field that is read has its type and range.",
    ),
    (
        "intent.id",
        "The intent is its digest",
        "The id is the digest of the payer and of what was wanted.",
    ),
    (
        "quote.request",
        "The quote is for this request",
        "Method, URL and body digest give the recorded fingerprint.",
    ),
    (
        "quote.hash",
        "The offer was not changed",
        "The recorded terms and request give the recorded quote hash.",
    ),
    (
        "authorization.terms",
        "What was signed is what was offered",
        "Recipient, amount, network and token equal the offer's.",
    ),
    (
        "authorization.domain",
        "The token is the one it says",
        "The signing domain is that of a known token on this network.",
    ),
    (
        "authorization.digest",
        "The digest is that of what was signed",
        "Authorization and domain give the recorded digest.",
    ),
    (
        "authorization.nonce",
        "The nonce belongs to the intent",
        "The nonce is the one derived from the intent.",
    ),
    (
        "authorization.signature",
        "The payer signed the payment",
        "The authorization's signature recovers to the payer.",
    ),
    (
        "payment.header",
        "What was sent is what was signed",
        "The payment header holds this offer, authorization and signature.",
    ),
    (
        "signature",
        "It is signed by whom it says",
        "The signature over exactly these members is that of the key or account named.",
    ),
    (
        "signer.authorized",
        "The signer may speak for the seller",
        "The key is one that you trust for this.",
    ),
    (
        "offer.expiry",
        "The offer still holds",
        "The time that it names is not over.",
    ),
    (
        "record.consistent",
        "The record agrees with itself",
        "References, states and repeated values inside the record agree.",
    ),
    (
        "claim.statement",
        "The statement fits the time line",
        "What the payer says, and why, is what the recorded steps lead to.",
    ),
    (
        "claim.amount",
        "What is claimed is what moved",
        "The amount that the chain shows, of the most that was signed for, is the one claimed.",
    ),
    (
        "receipt.challenge",
        "The receipt is for the challenge that was paid",
        "Method, challenge and the service's own name of the purchase agree, where the receipt says them.",
    ),
    (
        "receipt.time",
        "The receipt's time fits",
        "The time that it names is plausible, not in the future and not older than you allow.",
    ),
    (
        "settlement.success",
        "The seller says that it settled",
        "The settlement response reports success.",
    ),
    (
        "settlement.network",
        "Settled on the network that was signed for",
        "The networks are equal.",
    ),
    (
        "settlement.payer",
        "Settled for this payer",
        "The payers are equal.",
    ),
    (
        "settlement.payTo",
        "Settled to this recipient",
        "The recipients are equal.",
    ),
    (
        "settlement.asset",
        "Settled in this token",
        "The tokens are equal.",
    ),
    (
        "settlement.amount",
        "Settled for this amount",
        "The amounts are equal.",
    ),
    (
        "settlement.transaction",
        "The seller names the transaction that paid",
        "The transactions are equal.",
    ),
    (
        "chain.source",
        "The chain was read",
        "The caller handed in readable chain evidence, and trusts its source.",
    ),
    (
        "chain.authorization",
        "The authorization was used",
        "The token's AuthorizationUsed names this payer and nonce.",
    ),
    (
        "chain.transfer",
        "The money moved as signed",
        "The token's Transfer has exactly this payer, recipient and amount.",
    ),
    (
        "chain.finality",
        "It can't be undone",
        "The block that was read is final.",
    ),
    (
        "journal.form",
        "The journal is well formed",
        "Every line is in its one form.",
    ),
    (
        "journal.hash",
        "No line was rewritten",
        "The content of every line has the hash that it names.",
    ),
    (
        "journal.order",
        "Every line follows the one it names",
        "Nothing was reordered, put in between or changed underneath.",
    ),
    (
        "journal.complete",
        "Nothing is missing before the last line",
        "The lines are numbered from 1 without a gap.",
    ),
    (
        "lineage.parents",
        "Every parent is there",
        "Each intent's parents lead to a root.",
    ),
    (
        "lineage.acyclic",
        "No intent descends from itself",
        "Going up from any intent ends.",
    ),
    (
        "lineage.depth",
        "The tree is not too deep",
        "No path has more than 32 intents.",
    ),
    (
        "lineage.tree",
        "Each intent stands in one tree",
        "What is said of an intent's parent agrees everywhere.",
    ),
    (
        "lineage.principal",
        "One payer from the root down",
        "Every intent of a tree has its root's payer.",
    ),
    (
        "lineage.scope",
        "Children only narrow",
        "No budget, list of recipients or time is wider than what is above it.",
    ),
    (
        "lineage.budget",
        "No budget was passed",
        "What is settled, held or unknown below each budget fits into it, or a signed approval covers the rest.",
    ),
    (
        "lineage.state",
        "Every state follows from evidence",
        "What is called over is shown to be over by the recorded reads.",
    ),
    (
        "lineage.approvals",
        "Approvals are what was signed",
        "Each one's signature recovers, and what names it fits into it.",
    ),
    (
        "delivery.hash",
        "The answer is the recorded one",
        "SHA-256 of the exact bytes equals the recorded digest.",
    ),
    (
        "delivery.length",
        "The answer is complete",
        "The number of bytes equals the recorded length.",
    ),
    (
        "expect.kind",
        "It is the kind of document expected",
        "The kinds are equal.",
    ),
    (
        "expect.payer",
        "It is the payer expected",
        "The payers are equal.",
    ),
    (
        "expect.payTo",
        "It is the recipient expected",
        "The recipients are equal.",
    ),
    (
        "expect.resource",
        "It is the resource expected",
        "The URLs are equal in every part.",
    ),
    (
        "expect.amount",
        "It is the amount expected",
        "The amounts are equal.",
    ),
];
