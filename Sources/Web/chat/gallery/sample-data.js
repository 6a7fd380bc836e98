import { texts } from "../texts.js";

/** @typedef {import("../../client/client.js").Client} Client */

/** The chats of the sample data: the creator's name, the title, and the creator's messages. */
const chats = [
    {
        name: "Alice",
        title: texts.sample.lunch,
        messages: ["Noodles on Friday?", "There is a new place by the harbour.", "At noon?"],
    },
    {
        name: "Bob",
        title: texts.sample.trip,
        messages: ["The cabin is free next weekend.", "Can you bring the map?"],
    },
];

/**
 * Adds sample data for a user without chats: Alice and Bob, each with a profile and a chat, and
 * three action items, of which two belong to messages. Alice and Bob are separate accounts with
 * random passwords that are not stored. A further call adds no chat that is still among the user's
 * active chats.
 *
 * @param {Client} client
 */
export async function addSampleData(client) {
    const { user, email, node } = client;
    if (!user || !email) return;
    const present = client.chats({ archived: false }).map((chat) => chat.id);
    for (const { name, title, messages } of chats) {
        const conversation = `sample-${name.toLowerCase()}-${user}`.slice(0, 64);
        if (present.includes(conversation)) continue;
        const sender = await SampleUser.signUp(node, name);
        await sender.request("PATCH", "profile", { name });
        await sender.request("POST", "conversations", { id: conversation, title, email });
        const ids = [];
        for (const text of messages) {
            const id = crypto.randomUUID();
            ids.push(id);
            await sender.request("POST", `conversations/${conversation}/messages`, { id, text });
        }
        client.addItem({ title: messages[0], chat: conversation, message: ids[0] });
    }
    if (present.length === 0) client.addItem({ title: texts.sample.alone, priority: "low" });
}

/** The account of Alice or Bob, whose requests create the sample data. */
class SampleUser {
    /**
     * @param {string} node
     * @param {string} name
     */
    static async signUp(node, name) {
        const user = new SampleUser(node, undefined);
        const email = `${name.toLowerCase()}-${crypto.randomUUID()}@sample.invalid`;
        const tokens = await user.request("POST", "accounts", {
            email,
            password: crypto.randomUUID(),
        });
        return new SampleUser(node, tokens.accessToken);
    }

    /**
     * @param {string} node
     * @param {string | undefined} token
     */
    constructor(node, token) {
        this.node = node;
        this.token = token;
    }

    /**
     * @param {string} method
     * @param {string} path
     * @param {unknown} body
     */
    async request(method, path, body) {
        const answer = await fetch(`${this.node}/v1/${path}`, {
            method,
            headers: this.token ? { Authorization: `Bearer ${this.token}` } : {},
            body: JSON.stringify(body),
        });
        const value = await answer.json();
        if (!answer.ok) throw value.error;
        return value;
    }
}
