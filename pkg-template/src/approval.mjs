// What a person signs to approve or refuse something: whoever shows the request can make it, and nobody needs what pays for that.

import { callAny, object } from "./boundary.mjs";

export function approvalDocument(request, answer) {
  return callAny("approvalDocument", { ...object(answer, "answer"), request: object(request, "request") });
}

export function refusalDocument(request, answer) {
  return callAny("refusalDocument", { ...object(answer, "answer"), request: object(request, "request") });
}
