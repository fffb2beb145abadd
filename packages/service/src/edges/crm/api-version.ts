/** The value of the `Version` header in every call to the CRM (I7). */
export const API_VERSION = '2021-07-28';
