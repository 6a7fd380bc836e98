#ifndef WEB_H
#define WEB_H

// The files of the web pages, which the binary carries.

struct web_file {
    // The path in the folder of this module, such as `chat/chat.css`.
    const char *path;
    const unsigned char *bytes;
    unsigned long count;
};

unsigned long web_file_count(void);
// A large array itself does not import into Swift; what this returns does.
struct web_file web_file(unsigned long index);

#endif
