/*===- JoinWatch.h - An end to waiting for ranks that never start ----------===*/

#ifndef LLMMEM_LIB_RUNTIME_JOINWATCH_H
#define LLMMEM_LIB_RUNTIME_JOINWATCH_H

typedef struct JoinWatch JoinWatch;

/* Ends this process, after a message, unless llmmem_stop_join_watch is called within `seconds`. A
 * launcher then ends the other ranks. MPI itself waits for a rank that never starts as long as its
 * launcher lives. Returns null where there is no thread to watch, and then nothing is watched. */
JoinWatch *llmmem_start_join_watch(long seconds);
void llmmem_stop_join_watch(JoinWatch *watch);

long llmmem_join_seconds(void);

#endif /* LLMMEM_LIB_RUNTIME_JOINWATCH_H */
