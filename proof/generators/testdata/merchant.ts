// What a merchant writes against generated types, whichever the generator. It
// is compiled by a test, never run.
import type { CompletionEvent, CreateSessionRequest, DetectedAgeOut, ErrorOut, TextError, Violation } from "GENERATED";

export const request: CreateSessionRequest = { target_age: 18, success_url: "https://shop.example.com/ok" };

// @ts-expect-error webhook_url was removed
export const removed: CreateSessionRequest = { target_age: 18, webhook_url: "https://shop.example.com/hook" };

export const passed = (event: CompletionEvent): boolean => `${event.status}` === "VERIFIED" && event.is_adult;

export const years = (age: DetectedAgeOut): number | null => age.detected_age;

export const text = (error: TextError): string => error.detail;

export const place = (violation: Violation): (string | number)[] => violation.loc;

// Every error is one type, of which those of single statuses are cases.
export const explain = ({ detail }: ErrorOut): string =>
  typeof detail === "string" ? detail
    : Array.isArray(detail) ? detail.map((violation) => `${violation.type} ${place(violation).join(".")}`).join()
      : detail.code;

export const widen = (error: TextError): ErrorOut => error;
