// What a merchant writes against the types generated from the published
// document. It is compiled by a test, never run.
import type { components, operations, paths, webhooks } from "./api";

type Schemas = components["schemas"];

export const request: Schemas["CreateSessionRequest"] = { target_age: 18, success_url: "https://shop.example.com/ok" };

// @ts-expect-error webhook_url was removed
export const removed: Schemas["CreateSessionRequest"] = { target_age: 18, webhook_url: "https://shop.example.com/hook" };

export type Created = paths["/api/v1/sessions/create"]["post"]["responses"][201]["content"]["application/json"];
export type Event = webhooks["sessionCompleted"]["post"]["requestBody"]["content"]["application/json"];

export function describe(created: Created, event: Event, age: Schemas["DetectedAgeOut"]): string {
  const passed: boolean = event.status === "VERIFIED" && event.is_adult && event.session_id === created.session_id;
  const years: number | null = age.detected_age;
  return `${created.verification_url} ${passed} ${years?.toFixed(1)}`;
}

export function message(error: operations["createSession"]["responses"][402 | 422]["content"]["application/json"]): string {
  return Array.isArray(error.detail) ? error.detail.map((v) => `${v.type} ${v.loc.join(".")}`).join() : error.detail.code;
}

// @ts-expect-error a delivery is described once, as a webhook
export type Callback = operations["receiveCompletion"];
