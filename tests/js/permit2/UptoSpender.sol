// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.26;

/// What the tests need of Permit2.
interface SignatureTransfer {
    struct TokenPermissions { address token; uint256 amount; }
    struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }
    struct SignatureTransferDetails { address to; uint256 requestedAmount; }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessType,
        bytes calldata signature
    ) external;
}

/// A stand-in for the contract that settles x402's upto scheme: the same interface and the same rules, written for the tests of this
/// package. Compiled by solc 0.8.26, optimizer 200 runs, into upto-spender.hex.
contract UptoSpender {
    struct Witness { address to; address facilitator; uint256 validAfter; }

    SignatureTransfer public constant PERMIT2 = SignatureTransfer(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");
    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";

    event Settled();

    error InvalidDestination();
    error PaymentTooEarly();
    error UnauthorizedFacilitator();
    error AmountExceedsPermitted();

    function settle(
        SignatureTransfer.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        if (witness.to == address(0)) revert InvalidDestination();
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            SignatureTransfer.SignatureTransferDetails(witness.to, amount),
            owner,
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter)),
            WITNESS_TYPE_STRING,
            signature
        );
        emit Settled();
    }
}
