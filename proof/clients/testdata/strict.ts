// What a shop writes in strict TypeScript. It is compiled by a test, never run.
import { AgegateError, Client, verifyRedirect, verifyWebhook, type CompletionEvent, type CreateSessionOut } from "@agegate/client";
import * as declared from "@agegate/client";

import * as written from "./plain/index.js";

// The declarations and the JavaScript say the same. Private members, which never
// match, are left out.
type Public<T> = { [K in keyof T]: T[K] };
type DeclaredClient = Public<InstanceType<typeof declared.Client>>;
type WrittenClient = Public<InstanceType<typeof written.Client>>;
export const client = (w: WrittenClient): DeclaredClient => w;
export const clientBack = (d: DeclaredClient): WrittenClient => d;
export const make = (w: ConstructorParameters<typeof written.Client>): ConstructorParameters<typeof declared.Client> => w;
export const refusal = (w: written.AgegateError): declared.AgegateError => w;
export const refusalBack = (d: declared.AgegateError): written.AgegateError => d;
export const redirects: [typeof declared.verifyRedirect, typeof written.verifyRedirect] = [written.verifyRedirect, declared.verifyRedirect];
export const webhooks: [typeof declared.verifyWebhook, typeof written.verifyWebhook] = [written.verifyWebhook, declared.verifyWebhook];

const agegate = new Client("https://age.example.com", "svc_test_…");

export async function buy(order: string): Promise<string> {
  const session: CreateSessionOut = await agegate.createSession({ target_age: 18 }, { idempotencyKey: order });
  // @ts-expect-error webhook_url was removed
  await agegate.createSession({ target_age: 18, webhook_url: "https://shop.example.com/hook" });
  return session.verification_url;
}

export async function passed(id: string): Promise<boolean> {
  try {
    return (await agegate.getSessionStatus(id)).status === "PASSED";
  } catch (error) {
    if (error instanceof AgegateError) return error.violations.length > 0 && error.retryAfter === 0;
    throw error;
  }
}

export const redirect: Promise<boolean> = verifyRedirect("", "", "rdsec_test_…");

export async function hook(request: Request): Promise<boolean> {
  const event: CompletionEvent | null = await verifyWebhook(request.headers, await request.text(), "whsec_…");
  return event?.status === "VERIFIED" && event.is_adult && event.livemode;
}
